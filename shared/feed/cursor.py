"""The cursor of the change feed: one number that no other document accepts.

    cursor = seq * 2^18 + cut * 2^17 + part * 2^16 + tag

`tag` is 16 bits of keyed BLAKE2b over the rest. The whole stays below 2^53, so that JavaScript and
JSON carry it exactly; a wrong number passes by chance once in 65,536. The key belongs to the file
and is renewed by whatever can take the sequence back, so that older cursors are refused, never
answered wrongly.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from shared.errors import InvalidCursor

TAG_BITS: Final = 16
FLAG_BITS: Final = 2  # cut and part
CURSOR_BITS: Final = 53  # what a JSON number holds exactly in every client
MAX_SEQ: Final = 2 ** (CURSOR_BITS - TAG_BITS - FLAG_BITS) - 1  # 34 thousand million rows


class Cursor(msgspec.Struct, frozen=True):
    """A place in a document's sequence of changes.

    Attributes:
        seq: Every row up to and with this number has been told.
        cut: Paging stopped here; what comes next is judged leniently.
        part: It comes from an answer that did not show the whole document.
    """

    seq: int
    cut: bool = False
    part: bool = False


class CursorCodec:
    """Cursors of one document as numbers and back.

    Args:
        secret: The file's secret, 16 to 64 bytes.
    """

    def __init__(self, secret: bytes) -> None:
        self._key = secret

    def encode(self, cursor: Cursor) -> int:
        """The number told to callers: below 2^53. `cursor.seq` is between 0 and `MAX_SEQ`."""
        if not 0 <= cursor.seq <= MAX_SEQ:
            raise ValueError(f"seq {cursor.seq} does not fit a cursor")
        body = cursor.seq << FLAG_BITS | cursor.cut << 1 | cursor.part
        return body << TAG_BITS | self._tag(body)

    def decode(self, value: int, head: int) -> Cursor:
        """The cursor a caller's number stands for.

        `head` is the sequence now: nothing past it has been told to anyone.

        Raises:
            InvalidCursor: Not a whole number, negative, of another document or an earlier life of
                this one, from the future, or no cursor at all.
        """
        if type(value) is not int or not 0 <= value < 2**CURSOR_BITS:
            raise InvalidCursor(f"cursor: {str(value)[:32]!r} is not a cursor of any document.")
        body, tag = value >> TAG_BITS, value & (2**TAG_BITS - 1)
        seq = body >> FLAG_BITS
        if tag != self._tag(body) or seq > head:
            raise InvalidCursor(f"cursor: {value} is not a cursor of this document.")
        return Cursor(seq, cut=bool(body & 2), part=bool(body & 1))

    def _tag(self, body: int) -> int:
        data = body.to_bytes(8, "big")
        digest = blake2b(data, digest_size=TAG_BITS // 8, key=self._key, person=b"cursor").digest()
        return int.from_bytes(digest, "big")
