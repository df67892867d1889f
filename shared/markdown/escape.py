"""Escaping text, as little as will do.

`Caution` looks once at a whole textblock and says which characters could mean anything in it: a
lone `*` or `` ` `` cannot. The escapes made here are a good guess: the caller reads the result back
and escapes everything (`escape_all`) where the guess was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec
from markdown_it.common.entities import entities
from markdown_it.common.html_re import HTML_TAG_RE
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.rules_inline import StateInline

from shared.markdown.canon import CARRIER, WHITE
from shared.markdown.own_rules import ANCHOR_LINE, FOOTNOTE_REFERENCE
from shared.markdown.parser import MARKDOWN

# Text without any of these, and starting with a letter, is nothing but text.
PLAIN: Final = re.compile(rf"(?![0-9])\w[^\\`*_~\[\]<&!$|#\n{CARRIER}]*(?<![ \t])\Z")
_SPECIAL: Final = re.compile(r"\\+|`+|\*+|_+|~+|[\[\]<&!]")
_BRACKET: Final = re.compile(r"[\[\]]")
_PUNCTUATION: Final = re.compile(r"[!-/:-@\[-`{-~]")
_ENTITY: Final = re.compile(
    r"&(?:#(?:[xX][0-9a-fA-F]{1,6}|[0-9]{1,7})|([a-zA-Z][a-zA-Z0-9]{1,31}));"
)
_TAG_START: Final = re.compile(r"<[a-zA-Z/!?]")
_INLINE_MARKUP: Final = re.compile(r"!\[|\[\]\(")
_BRACKETLESS: Final = {"bold", "italic", "strike", "code"}  # marks usually written without `<`

# What makes the start of a line something else; group 1 stands before the character to escape.
_LINE_START: Final = re.compile(
    r"""
    ()\#{1,6}(?:[ \t]|\Z)                 # heading
    | ()>                                 # quote
    | ()[-+*](?:[ \t]|\Z)                 # bullet
    | ([0-9]{1,9})[.)](?:[ \t]|\Z)        # number
    | ()(?:-[ \t]*){3,}\Z                 # rule
    | ()(?:\*[ \t]*){3,}\Z
    | ()(?:_[ \t]*){3,}\Z
    | ()`{3,}[^`]*\Z                      # fence
    | ()~{3,}
    | ()\[(?:[^\\\[\]]|\\.)*\]:           # definition
    """,
    re.VERBOSE,
)
_SECOND_LINE: Final = re.compile(r"(?:=+|-+)[ \t]*\Z|[|:-][-:| \t]*\Z")  # setext, table
_BOX: Final = re.compile(r"\[[ xX]\](?:[ \t]|\Z)")
_CLOSING: Final = re.compile(r"(?:^|(?<=[ \t]))(?=#+\Z)")


class Caution(msgspec.Struct):
    """What the textblock holds that gives a character a meaning.

    Attributes:
        links: Whether links are written in it, or its text looks like one.
        html: Whether it holds a `>` that could close a tag.
    """

    star: bool
    underscore: bool
    tilde: bool
    tick: bool
    links: bool
    html: bool


EVERYTHING: Final = Caution(
    star=True, underscore=True, tilde=True, tick=True, links=True, html=True
)


class Run(msgspec.Struct, frozen=True):
    """Where a run of text stands.

    Attributes:
        linked: Inside link text.
        last: Nothing follows it in its textblock.
    """

    linked: bool = False
    last: bool = False


def caution(texts: Iterable[str], marks: set[str]) -> Caution:
    """`texts` are the runs of one textblock, code left out; `marks` all marks in it."""
    whole = "\n".join(texts)
    carried = CARRIER in whole
    return Caution(
        star=whole.count("*") > 1 or not marks.isdisjoint({"bold", "italic"}),
        underscore=whole.count("_") > 1,
        tilde=whole.count("~~") > 1 or "strike" in marks,
        tick=carried or "code" in marks or len(re.findall("`+", whole)) > 1,
        links=carried or "link" in marks or "](" in whole,
        html=carried or ">" in whole or bool(marks - _BRACKETLESS),
    )


def verbatim_end(text: str, start: int) -> int:
    """Where the source behind a U+2063 ends, `start` being its first character; -1 when none is."""
    if text.startswith("<", start):
        match = HTML_TAG_RE.match(text, start)
        return match.end() if match else -1
    if match := FOOTNOTE_REFERENCE.match(text, start):
        return match.end()
    if _INLINE_MARKUP.match(text, start):
        return _markup_end(text, start)
    return -1


def _markup_end(text: str, start: int) -> int:
    """An image or an empty link, as the parser itself delimits it; none reaches past the next."""
    end = text.find(CARRIER, start)
    source = text[start:] if end < 0 else text[start:end]
    if ")" not in source:
        return -1
    state = StateInline(source, MARKDOWN, {}, [])
    try:
        MARKDOWN.inline.skipToken(state)
    except RecursionError:
        return -1
    return start + state.pos if source[state.pos - 1] == ")" else -1


def escape(text: str, care: Caution, run: Run) -> str:
    """A run of text with what could be markup escaped."""
    parts: list[str] = []
    done = 0
    brackets = _linking(text, run) if run.linked or care.links else frozenset()
    for match in _SPECIAL.finditer(text):
        if match.start() in brackets or _matters(text, match, care, run):
            parts += (text[done : match.start()], "\\", "\\".join(match[0]))
            done = match.end()
    return "".join((*parts, text[done:])) if parts else text


def _matters(text: str, match: re.Match[str], care: Caution, run: Run) -> bool:
    start, end = match.span()
    before, after = text[start - 1 : start], text[end : end + 1]
    match match[0][0]:
        case "\\":
            bare = not run.last if not after else _PUNCTUATION.match(after) is not None
            return end - start > 1 or bare
        case "*":
            return care.star and not _between_blanks(before, after)
        case "_":
            inside = before.isalnum() and after.isalnum()
            return care.underscore and not inside and not _between_blanks(before, after)
        case "~":
            return care.tilde and (end - start > 1 or not before or not after)
        case "`":
            return care.tick
        case "[":
            return FOOTNOTE_REFERENCE.match(text, start) is not None
        case "]":
            return False  # `_linking` knows those that would
        case "!":
            return not after and not run.last
        case "<":
            opening = _TAG_START.match(text, start) is not None
            return opening and (care.html or (start == 0 and _is_html(text)))
        case _:
            return _is_entity(text, start)


def _linking(text: str, run: Run) -> frozenset[int]:
    """Places of brackets that could be a link's: all but pairs that nothing like one follows."""
    lonely: set[int] = set()
    waiting: list[int] = []
    for match in _BRACKET.finditer(text):
        at = match.start()
        if match[0] == "[":
            waiting.append(at)
        elif not waiting:
            lonely.add(at)
        else:
            after = text[at + 1 : at + 2]
            open_end = not (after or run.last or run.linked)
            if after in {"(", "["} or open_end:
                lonely |= {waiting.pop(), at}
            else:
                waiting.pop()
    found = lonely | set(waiting)
    return frozenset(found if run.linked else {at for at in found if text[at] == "["})


def _between_blanks(before: str, after: str) -> bool:
    return bool(before and after) and before in WHITE and after in WHITE


def _is_html(text: str) -> bool:
    """Whether an HTML block would start here, were it the start of a line."""
    return any(opening.search(text) for opening, _, _ in HTML_SEQUENCES)


def _is_entity(text: str, start: int) -> bool:
    match = _ENTITY.match(text, start)
    return match is not None and (match[1] is None or match[1] in entities)


def escape_all(text: str) -> str:
    """Text that cannot be anything but text."""
    return _PUNCTUATION.sub(r"\\\g<0>", text)


def guard_edges(text: str) -> str:
    """Characters that would be stripped at the ends of a textblock and after a break, as entities.

    Blanks are; a byte order mark is when the textblock starts a document.
    """
    if text[:1] in {" ", "\t", "\ufeff"}:
        text = _entity(text[0]) + text[1:]
    if text[-1:] in {" ", "\t"}:
        text = text[:-1] + _entity(text[-1])
    return re.sub(r"(?<=\\\n)[ \t]", lambda match: _entity(match[0]), text)


def _entity(character: str) -> str:
    return f"&#{ord(character)};"


def guard_lines(text: str, *, bullet: bool = False, behind_box: bool = False) -> str:
    """Line starts of a paragraph that would begin another block, escaped.

    Args:
        text: The paragraph.
        bullet: It begins a bullet, which its text must not give a box.
        behind_box: It begins a task: nothing is its first line's start.
    """
    lines = text.split("\n")
    guarded = [
        line if behind_box and not number else _guard_line(line, number, bullet=bullet)
        for number, line in enumerate(lines)
    ]
    if len(lines) > 1 or guarded[0] is not lines[0]:
        text = "\n".join(guarded)
    if text.startswith("$$") and text.count("$$") > 1 and not behind_box:
        text = "\\" + text
    return text


def _guard_line(line: str, number: int, *, bullet: bool) -> str:
    if match := _LINE_START.match(line):
        at = next(group for group in match.groups() if group is not None)
        return f"{at}\\{line[len(at) :]}"
    if number and _SECOND_LINE.match(line):
        return "\\" + line
    if line.startswith("[") and (
        ANCHOR_LINE.match(line) or (bullet and not number and _BOX.match(line))
    ):
        return "\\" + line
    if number and line.startswith("$$"):
        return "\\" + line
    return line


def guard_heading(text: str) -> str:
    """`#` at the end of a heading, escaped where it would close it."""
    return _CLOSING.sub(r"\\", text)
