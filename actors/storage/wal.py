"""What SQLite does not say of a write-ahead log: whether commits are behind a damaged place.

SQLite reads a log up to the first frame whose checksum does not fit and takes that for its end:
rightly, for a crash may leave a torn last transaction. But when a bit flips in the middle, commits
that were acknowledged vanish without an error. A transaction is begun only when the one before it
is on disk, so a frame of this log behind a commit that SQLite does not see proves such a loss. The
last commit of a log alone cannot be told from a torn one.

File format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

DAMAGED_SUFFIX: Final = "-wal.damaged"  # a log kept beside its file because of lost commits
_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_MAGIC: Final = (0x377F0682, 0x377F0683)  # the last bit: checksums over big-endian words
_MASK: Final = 0xFFFFFFFF


def wal_of(path: Path) -> Path:
    """The write-ahead log of a database file."""
    return path.with_name(path.name + "-wal")


def damaged_wal_of(path: Path) -> Path:
    """Where a log with lost commits is kept until the document has been repaired."""
    return path.with_name(path.name + DAMAGED_SUFFIX)


def lost_commits(log: bytes, seen: int) -> int:
    """How many commits of the log are lost to whoever reads its first `seen` frames.

    0 when all that is behind is one commit, which may be torn and then was never acknowledged.
    """
    commits, last, end = 0, 0, 0
    for number, committed in _frames(log):
        end = number
        if committed and number > seen:
            commits, last = commits + 1, number
    return commits if commits > 1 or (commits == 1 and end > last) else 0


def readable_frames(log: bytes) -> int:
    """How many frames SQLite would read: up to the last commit whose checksums fit."""
    if len(log) < _HEADER or struct.unpack_from(">I", log)[0] not in _MAGIC:
        return 0
    order = ">" if log[3] & 1 else "<"
    page = _page_size(log)
    sums = _checksum(order, log[:24], (0, 0))
    if sums != struct.unpack_from(">2I", log, 24):
        return 0
    readable = 0
    for number, committed in _frames(log):
        at = _HEADER + (number - 1) * (_FRAME_HEADER + page)
        content = log[at + _FRAME_HEADER : at + _FRAME_HEADER + page]
        sums = _checksum(order, log[at : at + 8], sums)
        sums = _checksum(order, content, sums)
        if sums != struct.unpack_from(">2I", log, at + 16):
            break
        if committed:
            readable = number
    return readable


def _page_size(log: bytes) -> int:
    size: int = struct.unpack_from(">I", log, 8)[0]
    return 65536 if size == 1 else size


def _frames(log: bytes) -> Iterator[tuple[int, bool]]:
    """Number, and whether it commits, of each whole frame that belongs to this log.

    Frames of an earlier round of the file have other salts.
    """
    if len(log) < _HEADER:
        return
    page = _page_size(log)
    salts = log[16:24]
    for number in range(1, (len(log) - _HEADER) // (_FRAME_HEADER + page) + 1):
        at = _HEADER + (number - 1) * (_FRAME_HEADER + page)
        if log[at + 8 : at + 16] == salts:
            yield number, log[at + 4 : at + 8] != b"\0\0\0\0"


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    one, two = sums
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for first, second in zip(words, words, strict=True):
        one = (one + first + two) & _MASK
        two = (two + second + one) & _MASK
    return one, two
