"""Addresses of documents and of their headings, for people to open."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

_AS_IS: Final = "!~*'()"  # what encodeURIComponent leaves alone, beside letters, digits and -_.


def document_url(base_url: str, slug: str) -> str:
    """Where people open a document. `base_url` has no slash at its end."""
    return f"{base_url}/d/{slug}"


def section_url(base_url: str, slug: str, section_id: str | None) -> str:
    """Where people open a document at a heading; without one, the document.

    A section's id may be whatever some client wrote: it is never put in as it is.
    """
    address = document_url(base_url, slug)
    return address if section_id is None else f"{address}?id={quote(section_id, safe=_AS_IS)}"
