"""How much of some blocks changed: words that came and went, and the widest passage of each.

Words are compared, and the elements they stand in; marks and attributes are not. So what only looks
different (bold, a link's target, a heading's level) has no measure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from shared.editor_shape import TEXTBLOCKS
from shared.limits import MAX_EXCERPT_CHARS, MAX_WORD_CELLS
from shared.markdown.canon import CARRIER
from shared.markdown.schema import plain_text
from shared.patch.block_diff import between, common
from shared.tree import Node

# Characters that show nothing: an edit of these alone is none. Joiners stay, they shape what is
# beside them.
_UNSEEN: Final = dict.fromkeys(
    (*range(0x20), *range(0x7F, 0xA0), *map(ord, "\u200b\u200e\u200f\u061c\u2060\ufe0f\ufeff"))
)
_UNSEEN[ord(CARRIER)] = None
_JOINERS: Final = "\u200c\u200d"
_MEDIA: Final = {"image": "image", "opaque": "embed"}

Token = str | tuple[str, str]  # a word; or an element's side and type


class Measure(msgspec.Struct, frozen=True):
    """Words that came and went; `excerpt`, `removed_excerpt`: one line each, empty: nothing."""

    words_added: int
    words_removed: int
    excerpt: str = ""
    removed_excerpt: str = ""


class Text(msgspec.Struct, frozen=True):
    """A block to be measured: its tree, and what it reads like."""

    node: Node
    reads: str


def one_line(text: str, limit: int) -> str:
    """`text` on one line, without what shows nothing, at most `limit` characters."""
    return " ".join(" ".join(text.split()).translate(_UNSEEN).split())[:limit].rstrip()


def count_words(nodes: Iterable[Node]) -> int:
    return sum(isinstance(token, str) for token in tokens(nodes))


def excerpt(nodes: Iterable[Node]) -> str:
    """The beginning of what the blocks say, on one line."""
    return _shown(tokens(nodes))


def measure(before: Sequence[Text], after: Sequence[Text]) -> Measure | None:
    """What changed between the blocks of then and of now; None: nothing that is counted."""
    equal = common([text.reads for text in before], [text.reads for text in after])
    came: list[list[Token]] = []
    went: list[list[Token]] = []
    for olds, news in between(equal, len(before), len(after)):
        old = list(tokens(before[at].node for at in olds))
        new = list(tokens(after[at].node for at in news))
        for gone, put in _differences(old, new):
            went.append(gone)
            came.append(put)
    if not came:
        return None
    return Measure(_words(came), _words(went), _widest(came), _widest(went))


def tokens(nodes: Iterable[Node]) -> Iterator[Token]:
    """Words, and where elements begin and end."""
    for node in nodes:
        yield "begin", node.type
        if node.type in TEXTBLOCKS:
            for word in plain_text(node).split():
                seen = word.translate(_UNSEEN)
                if seen.strip(_JOINERS):
                    yield seen
        else:
            yield from tokens(child for child in node.content if isinstance(child, Node))
        yield "end", node.type


def _differences(
    old: Sequence[Token], new: Sequence[Token]
) -> Iterator[tuple[list[Token], list[Token]]]:
    """Stretches that differ: what went and what came; too much to compare is one of them."""
    if old == new:
        return
    few = len(old) * len(new) <= MAX_WORD_CELLS
    for olds, news in between(common(old, new) if few else (), len(old), len(new)):
        if olds or news:
            yield [old[at] for at in olds], [new[at] for at in news]


def _words(stretches: Iterable[Iterable[Token]]) -> int:
    return sum(isinstance(token, str) for stretch in stretches for token in stretch)


def _widest(stretches: Iterable[Iterable[Token]]) -> str:
    return max((_shown(stretch) for stretch in stretches), key=len)


def _shown(stretch: Iterable[Token]) -> str:
    words: list[str] = []
    chars = 0
    for token in stretch:
        word = token if isinstance(token, str) else _media(token)
        if word:
            words.append(word)
            chars += len(word) + 1
        if chars > MAX_EXCERPT_CHARS:
            break
    return " ".join(words)[:MAX_EXCERPT_CHARS].rstrip()


def _media(token: tuple[str, str]) -> str:
    side, kind = token
    return _MEDIA.get(kind, "") if side == "begin" else ""
