"""Block texts to one document. Whoever mirrors a document from its blocks uses these rules.

Blocks are separated by a blank line; a taskList and a bulletList by one newline; two lists of one
kind by a line `<!-- -->`. Empty paragraphs at the end are left out. Front matter that is not at the
start, and link definitions that other blocks would suddenly refer to, are written as fences: a
block's text does not depend on its neighbours, so the join has to keep them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from markdown_it.common.utils import normalizeReference

from shared.markdown.build import EMPTY_TEXT, LIST_BREAK, code_block
from shared.markdown.canon import canon
from shared.markdown.parse import parse_lines
from shared.markdown.render import fence_lines

_LIST: Final = re.compile(
    r"(?P<task>- \[[ x]\](?:[ \n]|\Z))|(?P<bullet>-(?:[ \n]|\Z))|\d{1,9}(?P<end>[.)])(?:[ \n]|\Z)"
)
_BLANK_LINE: Final = "\n\n"
_ODD_STARTS: Final = "-[ 0123456789"  # of lists, front matter and definitions: they may differ
_LABEL: Final = re.compile(r"\[((?:[^\\\[\]]|\\.)+)\]", re.DOTALL)
_DEFINED: Final = re.compile(r"^ {0,3}\[(?!\^)((?:[^\\\[\]]|\\.)+)\]:", re.MULTILINE | re.DOTALL)


def join(texts: Iterable[str]) -> str:
    """The document of these block texts: ends with one newline, or is empty."""
    return anchored(("", text) for text in texts)


def joined_chars(texts: Sequence[str]) -> int:
    """How long their `join` is, without writing it."""
    end = len(texts)
    while end and texts[end - 1] == EMPTY_TEXT:
        end -= 1
    odd = [n for n, text in enumerate(texts[:end]) if text[:1] in _ODD_STARTS]
    if any(texts[n].lstrip(" ")[:1] == "[" or _is_yaml(texts[n]) for n in odd):
        return len(join(texts))
    lists = [(n, _kind(texts[n])) for n in odd]
    between = sum(
        len(_separator(kind, next_kind)) - len(_BLANK_LINE)
        for (n, kind), (other, next_kind) in pairwise(lists)
        if other == n + 1
    )
    return sum(map(len, texts[:end])) + len(_BLANK_LINE) * (end - 1) + 1 + between if end else 0


def anchored(pairs: Iterable[tuple[str, str]]) -> str:
    """As `join`, with a line `[anchor]` above each block that comes with an anchor."""
    blocks = list(pairs)
    while blocks and blocks[-1][1] == EMPTY_TEXT:
        blocks.pop()
    if not blocks:
        return ""
    texts = _apart([text for _, text in blocks])
    parts: list[str] = []
    before = ""
    for (anchor, _), text in zip(blocks, texts, strict=True):
        kind = _kind(text)
        if parts:
            parts.append(_separator(before, kind))
        if anchor:
            parts.append(f"[{anchor}]\n")
        parts.append(text)
        before = kind
    return "".join((*parts, "\n"))


def _kind(text: str) -> str:
    """What kind of list a text is; empty for anything else."""
    match = _LIST.match(text)
    if not match:
        return ""
    return match["end"] or ("task" if match["task"] else "bullet")


def _separator(before: str, after: str) -> str:
    if before and before == after:
        return f"\n\n{LIST_BREAK}\n\n"
    return "\n" if {before, after} == {"task", "bullet"} else _BLANK_LINE


def _apart(texts: list[str]) -> list[str]:
    """Texts that would mean something else beside the others, as fences."""
    apart = [
        _as_fence("=yaml", text) if n and _is_yaml(text) else text for n, text in enumerate(texts)
    ]
    defining = [
        n
        for n, text in enumerate(texts)
        if text.lstrip(" ").startswith("[") and _DEFINED.match(text)
    ]
    if not defining:
        return apart
    labels = [_labels(text) for text in texts]
    for n in defining:
        own = {normalizeReference(match[1]) for match in _DEFINED.finditer(texts[n])}
        others = (text for m, text in enumerate(texts) if m != n and own & labels[m])
        if any(_refers(text, texts[n]) for text in others):
            apart[n] = _as_fence("=markdown", texts[n])
    return apart


def _labels(text: str) -> set[str]:
    """What could be a reference in a text: far too much, but nothing is missing."""
    if "[" not in text:
        return set()
    return {normalizeReference(match[1]) for match in _LABEL.finditer(text)}


def _refers(text: str, definitions: str) -> bool:
    """Whether `definitions` beside `text` would not stay the block they are."""
    blocks = parse_lines(f"{text}\n\n{definitions}").blocks
    return not blocks or canon(blocks[-1].node) != canon(code_block("=markdown", definitions))


def _is_yaml(text: str) -> bool:
    return text.startswith("---\n")


def _as_fence(language: str, text: str) -> str:
    if language == "=yaml":
        text = "\n".join(text.split("\n")[1:-1])
    return "\n".join(fence_lines(language, text))
