"""Spelling strings that are no text: link destinations and titles, the language of a fence."""

from __future__ import annotations

import re
from typing import Final

_ENTITY: Final = re.compile(r"&(?=#?[a-zA-Z0-9]+;)")
# White space too: at an end, or as a line end, it is written as an entity.
_ESCAPE: Final = re.compile(r"\\(?=[!-/:-@\[-`{-~ \t\n\r])")
# Bare destinations end at white space and controls; parentheses and backslashes need care.
_POINTED: Final = re.compile(r"[\x00-\x20\x7f()\\<>]")


def _on_one_line(text: str) -> str:
    return _ENTITY.sub(r"\\&", text).replace("\n", "&#10;").replace("\r", "&#13;")


def destination(url: str) -> str:
    """A link destination, in `<>` when it is empty or holds what would end it."""
    if url and not _POINTED.search(url):
        return _on_one_line(url)
    pointed = url.replace("\\", "\\\\").replace("<", "\\<").replace(">", "\\>")
    return f"<{_on_one_line(pointed)}>"


def link_tail(url: str, title: str) -> str:
    """`(destination "title")`."""
    if not title:
        return f"({destination(url)})"
    quoted = title.replace("\\", "\\\\").replace('"', '\\"')
    return f'({destination(url)} "{_on_one_line(quoted)}")'


def info_string(language: str) -> str:
    """What stands behind the opening backticks of a fence."""
    text = _on_one_line(_ESCAPE.sub(r"\\\\", language)).replace("`", "&#96;")
    if text.endswith("\\"):
        text += "\\"
    start, end = text[:1], text[-1:]
    if start in {" ", "\t"}:
        text = f"&#{ord(start)};{text[1:]}"
    if len(language) > 1 and end in {" ", "\t"}:
        text = f"{text[:-1]}&#{ord(end)};"
    return text
