"""CriticMarkup: a document and the edits suggested in it as one text, and back.

    {++new++}   {--old--}   {~~old~>new~~}   {>>note by author<<}

Of an exported text `rejected` is the document's Markdown and `accepted` what it would be with every
edit shown. For that to hold of any text, marks that are somebody's words are written with a word
joiner (U+2060) behind their first character, and read without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from shared.markdown.join import join
from shared.suggestions.accepting import Now, outcome
from shared.suggestions.edits import Suggestion
from shared.yjs.text_diff import Edit, apply, diff

_JOINER: Final = "\u2060"
_APART: Final = "\n\n"  # between two blocks, mostly
_J: Final = f"{_JOINER}*"
# What begins, parts or ends a mark; a joiner behind the first character takes its meaning away.
_LITERAL: Final = re.compile(
    rf"\{{{_J}(?=\+{_J}\+|-{_J}-|~{_J}~|>{_J}>|={_J}=)"
    rf"|([+\-~<=]){_J}(?=\1{_J}\}})"
    rf"|~{_J}(?=>)"
)
_OPENINGS: Final = re.compile(r"\{(?:\+\+|--|~~|>>|==)")
_CLOSINGS: Final = {"{++": "++}", "{--": "--}", "{~~": "~~}", "{>>": "<<}", "{==": "==}"}
_PARTING: Final = "~>"
_LONGEST_WORD: Final = 40  # characters; longer ones are no words that somebody reads
_LETTERS: Final = r"[^\W_\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"  # of words with spaces
_WORD_BEFORE: Final = re.compile(rf"{_LETTERS}+\Z")
_WORD_BEHIND: Final = re.compile(rf"{_LETTERS}+")


class _Mark(msgspec.Struct, frozen=True):
    """A mark of a text, from `start` up to `end`: what is there with and without the edit."""

    start: int
    end: int
    kind: str
    without: str
    within: str


def rejected(text: str) -> str:
    """The Markdown without what is suggested in it."""
    return _read(text, lambda mark: mark.without)


def accepted(text: str) -> str:
    """The Markdown with everything that is suggested in it."""
    return _read(text, lambda mark: mark.within)


def notes(text: str) -> list[str]:
    """What is said of the edits, in the order of the text."""
    return [_plain(text[m.start + 3 : m.end - 3]).strip() for m in _marks(text) if m.kind == "{>>"]


def _read(text: str, chosen: Callable[[_Mark], str]) -> str:
    parts: list[str] = []
    at = 0
    for mark in _marks(text):
        parts += [_plain(text[at : mark.start]), _plain(chosen(mark))]
        at = mark.end
    return "".join([*parts, _plain(text[at:])])


def _marks(text: str) -> Iterator[_Mark]:
    """The marks, in order. What is not closed is text; that is looked for once of each kind."""
    open_for_good: set[str] = set()
    at = 0
    while (found := _OPENINGS.search(text, at)) is not None:
        mark = None if found[0] in open_for_good else _mark_at(text, found.start(), found[0])
        if mark is None:
            open_for_good.add(found[0])
            at = found.end()
        else:
            yield mark
            at = mark.end


def _mark_at(text: str, start: int, kind: str) -> _Mark | None:
    begin = start + len(kind)
    parting = text.find(_PARTING, begin) if kind == "{~~" else begin
    if parting < 0:
        return None
    after = parting + len(_PARTING) if kind == "{~~" else begin
    close = text.find(_CLOSINGS[kind], after)
    if close < 0:
        return None
    old, new = text[begin:parting], text[after:close]
    end = close + len(_CLOSINGS[kind])
    without = {"{++": "", "{--": new, "{~~": old, "{>>": "", "{==": new}[kind]
    within = {"{++": new, "{--": "", "{~~": new, "{>>": "", "{==": new}[kind]
    return _Mark(start, end, kind, without, within)


def _quoted(text: str) -> str:
    """A text none of whose words is a mark."""
    return _LITERAL.sub(lambda match: match[0] + _JOINER, text)


def _plain(text: str) -> str:
    return _LITERAL.sub(lambda match: match[0].removesuffix(_JOINER), text)


def exported(now: Now, suggestions: Sequence[Suggestion], names: Mapping[str, str]) -> str:
    """The document with those of `suggestions` in it that can be brought onto it; `names`: what
    principals are called.
    """
    shown, texts = outcome(now, suggestions)
    before = [block.text for block in now.present]
    said: dict[str, str] = {}
    for one in shown:
        near = one.edit.block_id or next(iter(one.edit.trail), "")
        said[near] = said.get(near, "") + _said(one, names)
    return woven(join(before), join(texts), _places(now, said))


def _places(now: Now, said: Mapping[str, str]) -> list[tuple[int, str]]:
    """Where each block ends in the document, and what is to be said behind a mark in it."""
    ends: list[tuple[int, str]] = [(0, said.get("", ""))] if "" in said else []
    at = 0
    for block in now.present:
        at += len(block.text) + len(_APART)
        ends.append((at, said.get(block.block_id, "")))
    return ends


def woven(before: str, after: str, places: Sequence[tuple[int, str]] = ()) -> str:
    """One text of two: what differs stands in marks.

    `places` say up to which place of `before` something is said of it: it stands behind the first
    mark there, or at the end.
    """
    parts: list[str] = []
    at, place = 0, 0
    for edit in _by_words(before, diff(before, after)):
        parts.append(_quoted(before[at : edit.at]))
        end = edit.at + edit.delete
        parts.append(_mark(before[edit.at : end], edit.insert))
        at = end
        while place < len(places) and (place == 0 or places[place - 1][0] <= end):
            parts.append(places[place][1])
            place += 1
    return "".join([*parts, _quoted(before[at:]), *(told for _, told in places[place:])])


def _by_words(before: str, edits: Iterable[Edit]) -> Iterator[Edit]:
    """The same, but a word that is changed within is taken out and put in whole."""
    start, end = 0, 0
    together: list[Edit] = []
    for edit in edits:
        first, last = _around(before, edit)
        if together and first > end:
            yield _as_one(before, start, end, together)
            together = []
        if not together:
            start, end = first, last
        together.append(edit)
        end = max(end, last)
    if together:
        yield _as_one(before, start, end, together)


def _around(before: str, edit: Edit) -> tuple[int, int]:
    """From where up to where the words reach that an edit cuts; an ending put on a word is told
    as what it is.
    """
    start, end = edit.at, edit.at + edit.delete
    removed, inserted = before[start:end], edit.insert
    left = right = 0
    if _WORD_BEHIND.match(removed[:1]) or _WORD_BEHIND.match(inserted[:1]):
        left = _length(_WORD_BEFORE.search(before[max(0, start - _LONGEST_WORD) : start]))
    if _WORD_BEHIND.match(removed[-1:]) or _WORD_BEHIND.match(inserted[-1:]):
        right = _length(_WORD_BEHIND.match(before[end : end + _LONGEST_WORD]))
    cut = (removed and inserted) or (left and right)
    return (start - left, end + right) if cut else (start, end)


def _length(found: re.Match[str] | None) -> int:
    return 0 if found is None else len(found[0])


def _as_one(before: str, start: int, end: int, edits: Sequence[Edit]) -> Edit:
    inside = [Edit(edit.at - start, edit.delete, edit.insert) for edit in edits]
    return Edit(start, end - start, apply(before[start:end], inside))


def _mark(old: str, new: str) -> str:
    if not old:
        return f"{{++{_quoted(new)}++}}"
    if not new:
        return f"{{--{_quoted(old)}--}}"
    return f"{{~~{_quoted(old)}~>{_quoted(new)}~~}}"


def _said(one: Suggestion, names: Mapping[str, str]) -> str:
    by = " ".join(names.get(one.principal, one.principal).split())
    note = f"{' '.join(one.note.split())} — {by}" if one.note else by
    return f"{{>>{_quoted(note)}<<}}"
