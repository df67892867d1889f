"""Blocks for patch tests: short names, paragraphs only, ids one can read."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from shared.ids import BlockRef, parse_ref, text_hash
from shared.patch.patch import plan_patch
from shared.patch.rebase import Merger
from shared.patch.types import (
    NOTHING_SEEN,
    Delete,
    Insert,
    Move,
    NewBlock,
    Plan,
    Present,
    Replace,
    Seen,
    apply_to_list,
)
from shared.protocol import OnConflict, WriteOptions
from shared.tree import Block, Node, Text

Doc = list[tuple[str, str]]  # ids and texts


def block(text: str) -> Block:
    return Block(Node("paragraph", {}, (Text(text),)), source=text)


def parse_one(text: str) -> Block | None:
    """As the real parser: an empty line ends a block."""
    return None if "\n\n" in text or not text.strip() else block(text.strip())


MERGER = Merger(parse_one, lambda block: block.source)


def block_id(name: str) -> str:
    """`a` becomes `a0000000`."""
    return name.ljust(8, "0")


def doc(*texts: str, **named: str) -> Doc:
    """Blocks `b0`, `b1`, … and those named."""
    numbered = [(block_id(f"b{n}x"), text) for n, text in enumerate(texts)]
    return numbered + [(block_id(name), text) for name, text in named.items()]


def present(document: Doc) -> list[Present]:
    return [Present.of(i, text) for i, text in document]


def sent(*texts: str) -> list[NewBlock]:
    """Blocks as sent; `[<anchor>] text` is a block with that line above it."""
    made = []
    for text in texts:
        head, _, rest = text.partition("] ")
        ref = parse_ref(head) if text.startswith("[") else None
        body = rest if ref else text
        made.append(NewBlock.of(Block(block(body).node, source=body, anchor=head[1:]), body))
        if not ref:
            made[-1] = NewBlock.of(block(text), text)
    return made


def anchor_of(document: Doc, name: str) -> str:
    return next(p.anchor for p in present(document) if p.block_id == name)


def saw(document: Doc) -> Seen:
    return Seen.of_state(document)


def after(document: Doc, plan: Plan) -> Doc:
    return apply_to_list(document, plan, lambda number: block_id(f"n{number}x"))


def texts(document: Doc) -> list[str]:
    return [text for _, text in document]


def ids(document: Doc) -> list[str]:
    return [i for i, _ in document]


def ops(plan: Plan) -> list[str]:
    """What a plan does, one word and the block for each operation."""
    told = []
    for op in plan.ops:
        match op:
            case Insert():
                told.append(f"insert {op.new.text}")
            case Replace():
                told.append(f"replace {op.block_id.rstrip('0')} {op.new.text}")
            case Delete():
                told.append(f"delete {op.block_id.rstrip('0')}")
            case Move():
                told.append(f"move {op.block_id.rstrip('0')}")
    return told


def patched(document: Doc, new: Sequence[NewBlock], seen: Seen) -> tuple[Doc, Plan]:
    plan = plan_patch(present(document), new, seen, merger=MERGER)
    return after(document, plan), plan


WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "fox", "golf", "hotel", "india", "kilo"]


def sentences() -> st.SearchStrategy[str]:
    """Sentences that are often alike, rules and empty paragraphs, often equal."""
    words = st.lists(st.sampled_from(WORDS), min_size=4, max_size=12).map(" ".join)
    return st.one_of(words, words, words, st.sampled_from(["---", "&nbsp;", "same text as ever"]))


def documents(min_size: int = 0, max_size: int = 9) -> st.SearchStrategy[Doc]:
    return st.lists(sentences(), min_size=min_size, max_size=max_size).map(lambda t: doc(*t))


ABC = doc(a="the first block", b="a second one", c="and the third")


def ref(document: Doc, name: str) -> BlockRef:
    text = dict(document)[block_id(name)]
    return BlockRef(block_id(name), text_hash(text))


def patch(
    now: Doc,
    *new: str,
    seen: Seen = NOTHING_SEEN,
    anchors: tuple[BlockRef, ...] = (),
    section: BlockRef | None = None,
    on_conflict: OnConflict | None = None,
    large: bool = False,
    pinned: tuple[str, ...] = (),
    added: tuple[str, ...] = (),
) -> Plan:
    return plan_patch(
        present(now),
        sent(*new),
        seen,
        merger=MERGER,
        anchors=anchors,
        section_id=section,
        options=WriteOptions(on_conflict=on_conflict, allow_large_delete=large),
        pinned=pinned,
        added=added,
    )
