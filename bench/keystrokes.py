"""P8: what one keystroke costs the document's actor, with 10,000 blocks and with 100."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Final, NamedTuple

from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from bench.agents import document
from bench.results import Row, alone, compared
from shared.document.live_document import ROOT, Author, LiveDocument
from shared.markdown.parse import parse
from shared.stored import Loaded

LARGE, SMALL = 10_000, 100
BAR: Final = 1.5  # 10,000 blocks against 100, what yrs itself needs taken off
WARMUP: Final = 50
ANN: Final = Author("ann", "Ann", "editor")
EMPTY: Final = Loaded(
    secret=b"bench" * 4,
    update_seq=0,
    change_head=0,
    change_floor=0,
    at=0,
    depth=0,
    title=None,
    checkpoint=None,
    updates=(),
    rows=(),
    principals={},
    views={},
    budgets={},
)


class Cost(NamedTuple):
    """Microseconds a keystroke: all that is done before it is handed on, and yrs' part of it."""

    all_us: float
    yrs_us: float


def rows(keystrokes: int) -> list[Row]:
    """One editor types `keystrokes` letters, each in another block."""
    large, small = (measure(document(blocks), keystrokes) for blocks in (LARGE, SMALL))
    ours = (large.all_us - large.yrs_us, small.all_us - small.yrs_us)
    return [
        compared("P8", "keystroke_us_without_yrs_10000_blocks_beside_100", *ours, BAR),
        alone("P8", "keystroke_us_10000_blocks", large.all_us),
        alone("P8", "keystroke_us_yrs_alone_10000_blocks", large.yrs_us),
    ]


def measure(text: str, keystrokes: int) -> Cost:
    """Of letters typed one by one into a document of this text."""
    names = (f"{n:08d}" for n in itertools.count())
    content = parse(text).blocks
    live, _ = LiveDocument.seed(EMPTY, content, ANN, 0, lambda: next(names))
    editor, bare = Doc[XmlFragment](), Doc[XmlFragment]()
    for copy in (editor, bare):
        copy.apply_update(live.diff(b"\0"))
    sent: list[bytes] = []
    subscription = editor.observe(lambda event: sent.append(event.update))
    ours, yrs = [], []
    for n in range(WARMUP + keystrokes):
        _type(editor, n * 7 % len(content))
        update = sent.pop()
        started = time.perf_counter()
        applied = live.apply(update, ANN, n)
        between = time.perf_counter()
        bare.apply_update(update)
        yrs.append(time.perf_counter() - between)
        ours.append(between - started)
        if applied.verdict != "applied":
            msg = f"a keystroke was {applied.verdict}"
            raise RuntimeError(msg)
    editor.unobserve(subscription)
    live.close()
    return Cost(*(statistics.median(times[WARMUP:]) * 1e6 for times in (ours, yrs)))


def _type(editor: Doc[XmlFragment], block: int) -> None:
    element = editor.get(ROOT, type=XmlFragment).children[block]
    assert isinstance(element, XmlElement)
    text = element.children[0]
    assert isinstance(text, XmlText)
    text.insert(3, "x")
