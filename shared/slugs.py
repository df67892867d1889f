"""Slugs and titles: their forms, and how one is made from the other."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from shared.errors import InvalidArgument
from shared.ids import ALPHABET, Choose, is_doc_id
from shared.limits import MAX_SLUG_CHARS, MAX_TITLE_CHARS

UNTITLED: Final = "Untitled"
_SUFFIX_LENGTH: Final = 4

_SLUG = re.compile(rf"[a-z0-9-]{{1,{MAX_SLUG_CHARS}}}\Z")
_OTHER = re.compile(r"[^a-z0-9]+")
_LINE_BREAKS = re.compile("[\r\n\v\f\x85\u2028\u2029]+")


def single_line(text: str, limit: int = MAX_TITLE_CHARS) -> str:
    """`text` on one line, white space around it cut, at most `limit` characters."""
    return _LINE_BREAKS.sub(" ", text).strip()[:limit].rstrip()


def slugify(title: str) -> str:
    """The slug a title asks for; `document` when none of its characters fits."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = _OTHER.sub("-", plain).strip("-")[:MAX_SLUG_CHARS].rstrip("-")
    return slug or "document"


def with_suffix(slug: str, choose: Choose) -> str:
    """`slug` with `-` and four random characters, still within the length of a slug."""
    suffix = "".join(choose(ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return f"{slug[: MAX_SLUG_CHARS - _SUFFIX_LENGTH - 1].rstrip('-')}-{suffix}"


def is_usable(slug: str) -> bool:
    """Whether a document may have this slug; one that looks like an id would hide a document."""
    return _SLUG.match(slug) is not None and not is_doc_id(slug)


def check_slug(slug: str) -> str:
    """The slug a caller chose. Raises InvalidArgument."""
    if _SLUG.match(slug) is None:
        raise InvalidArgument(
            f"slug: 1 to {MAX_SLUG_CHARS} of a-z, 0-9 and '-' are allowed.", slug=slug[:100]
        )
    if is_doc_id(slug):
        raise InvalidArgument("slug: 12 characters without '-' are the form of an id.", slug=slug)
    return slug
