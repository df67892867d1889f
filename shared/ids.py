"""Ids and anchors: their forms, how they are checked, how an anchor is made.

The random source is passed in (`secrets.choice` in production), so nothing here is random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from hashlib import blake2b
from typing import Final

import msgspec

ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
BLOCK_ID_LENGTH: Final = 8
DOC_ID_LENGTH: Final = 12
HASH_LENGTH: Final = 6  # hex digits; a changed block passes by chance once in 1.7 x 10^7

_BLOCK_ID = re.compile(rf"[0-9a-z]{{{BLOCK_ID_LENGTH}}}\Z")
_DOC_ID = re.compile(rf"[0-9a-z]{{{DOC_ID_LENGTH}}}\Z")
_ANCHOR = re.compile(rf"([0-9a-z]{{{BLOCK_ID_LENGTH}}})-([0-9a-f]{{{HASH_LENGTH}}})\Z")

Choose = Callable[[str], str]  # one character out of a string: `secrets.choice`


class BlockRef(msgspec.Struct, frozen=True):
    """A block parameter: an id, and the hash to check when an anchor was given."""

    block_id: str
    hash: str | None = None


def mint_block_id(choose: Choose, taken: Container[str]) -> str:
    """A fresh block id, not in `taken`."""
    while True:
        block_id = "".join(choose(ALPHABET) for _ in range(BLOCK_ID_LENGTH))
        if block_id not in taken:
            return block_id


def mint_doc_id(choose: Choose) -> str:
    """A fresh document id: 12 characters base36."""
    return "".join(choose(ALPHABET) for _ in range(DOC_ID_LENGTH))


def is_doc_id(value: str) -> bool:
    return _DOC_ID.match(value) is not None


def is_block_id(value: str) -> bool:
    return _BLOCK_ID.match(value) is not None


def text_hash(text: str) -> str:
    """First 6 hex digits of BLAKE2b over the block's Markdown in UTF-8."""
    return blake2b(text.encode(), digest_size=8).hexdigest()[:HASH_LENGTH]


def anchor(block_id: str, text: str) -> str:
    """`<id>-<hash>` of a block whose Markdown is `text`."""
    return f"{block_id}-{text_hash(text)}"


def parse_ref(value: str) -> BlockRef | None:
    """An id or an anchor as a `BlockRef`; None when it is neither. White space around it is cut."""
    value = value.strip().strip("[]")
    if is_block_id(value):
        return BlockRef(value)
    match = _ANCHOR.match(value)
    return BlockRef(match[1], match[2]) if match else None
