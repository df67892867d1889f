"""Three-way merge of Markdown sources, word by word.

Two people changed the same text. Where their edits lie apart both are taken; where they touch
nothing is guessed and there is no merge. Equal edits are one edit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from shared.limits import MAX_MERGE_WORDS
from shared.patch.block_diff import common

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_MIN_KEPT_WORDS: Final = 2  # edits of one side with fewer words between them are one edit


class Hunk(msgspec.Struct, frozen=True):
    """Tokens `start` to `end` of the base become `text`."""

    start: int
    end: int
    text: tuple[str, ...]


def merge(base: str, theirs: str, ours: str) -> str | None:
    """`base` with the edits of both sides; None when they touch or the texts are too long.

    "Touch" means that no unchanged word or sign lies between them: changes of two neighbouring
    words are made in sight of each other and do not merge.
    """
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    old = _TOKEN.findall(base)
    hunks_theirs, hunks_ours = _hunks(old, theirs), _hunks(old, ours)
    if hunks_theirs is None or hunks_ours is None:
        return None
    only_ours = [hunk for hunk in hunks_ours if hunk not in hunks_theirs]
    if any(_touch(old, one, other) for one in hunks_theirs for other in only_ours):
        return None
    return _apply(old, sorted([*hunks_theirs, *only_ours], key=lambda hunk: hunk.start))


def _hunks(old: Sequence[str], text: str) -> list[Hunk] | None:
    """The edits from `old` to `text`; None when there is too much to compare."""
    new = _TOKEN.findall(text)
    if max(len(old), len(new)) > MAX_MERGE_WORDS:
        return None
    hunks: list[Hunk] = []
    at_old = at_new = 0
    for i, j in [*common(old, new), (len(old), len(new))]:
        if i > at_old or j > at_new:
            hunks.append(Hunk(at_old, i, tuple(new[at_new:j])))
        at_old, at_new = i + 1, j + 1
    return _joined(old, hunks)


def _joined(old: Sequence[str], hunks: Sequence[Hunk]) -> list[Hunk]:
    """Hunks with hardly a word between them as one.

    A rewritten sentence shares its small words with the old one by chance; taken apart at those,
    two rewritings would be woven into each other.
    """
    joined: list[Hunk] = []
    for hunk in hunks:
        last = joined[-1] if joined else None
        if last and _words(old[last.end : hunk.start]) < _MIN_KEPT_WORDS:
            text = (*last.text, *old[last.end : hunk.start], *hunk.text)
            joined[-1] = Hunk(last.start, hunk.end, text)
        else:
            joined.append(hunk)
    return joined


def _words(tokens: Sequence[str]) -> int:
    return sum(token[0].isalnum() for token in tokens)


def _touch(old: Sequence[str], one: Hunk, other: Hunk) -> bool:
    first, second = sorted((one, other), key=lambda hunk: (hunk.start, hunk.end))
    return all(token.isspace() for token in old[first.end : second.start])


def _apply(old: Sequence[str], hunks: Sequence[Hunk]) -> str:
    parts: list[str] = []
    at = 0
    for hunk in hunks:
        parts += old[at : hunk.start]
        parts += hunk.text
        at = hunk.end
    return "".join([*parts, *old[at:]])
