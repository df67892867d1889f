"""Reading Yjs updates (v1) without applying them: what an update needs, and what it left over.

A block that starts past our clock for its client is a gap in the sender's own history. yrs would
show it, JavaScript clients would not, and a replay of the log would lose it together with every
edit built on it; so it must be found before it is applied. Layout after Yjs' `UpdateEncoderV1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

_GC: Final = 0
_STRING: Final = 4
_SKIP: Final = 10
_TYPE: Final = 7
Id = tuple[int, int]  # client, clock
_ROOT: Final = (-1, -1)
_ORIGIN: Final = 0x80
_RIGHT_ORIGIN: Final = 0x40
_PARENT_SUB: Final = 0x20
_NAMED_TYPES: Final = (3, 5)  # XmlElement and XmlHook carry a name


class MalformedUpdateError(ValueError):
    """The bytes are not a Yjs update."""


class _Reader:
    __slots__ = ("at", "data", "last_text")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.last_text = ""

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def uint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise MalformedUpdateError("a number is longer than 64 bits")

    def skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise MalformedUpdateError("the update ends early")

    def blob(self) -> None:
        self.skip(self.uint())

    def text_length(self) -> int:
        """Skips a string and returns its length as Yjs counts it, in UTF-16 units."""
        size = self.uint()
        start = self.at
        self.skip(size)
        try:
            text = self.last_text = self.data[start : self.at].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise MalformedUpdateError("a text is not UTF-8") from error
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


def decode_state_vector(encoded: bytes) -> dict[int, int]:
    """`client -> clock` of an encoded state vector. Raises MalformedUpdateError."""
    reader = _Reader(encoded)
    try:
        return {reader.uint(): reader.uint() for _ in range(reader.uint())}
    except IndexError as error:
        raise MalformedUpdateError("the state vector ends early") from error


def brings_something(update: bytes) -> bool:
    """Whether an update inserts anything: it begins with how many clients' blocks it has."""
    return update[:1] not in (b"", b"\x00")


def has_gap(update: bytes, clocks: Mapping[int, int]) -> bool:
    """Whether a block of the update starts past `clocks` (`client -> clock`) for its client.

    Raises MalformedUpdateError; an update this cannot read is one that must not be applied.
    """
    try:
        reader = _Reader(update)
        clients = reader.uint()
        if clients == 1:
            blocks, client, clock = reader.uint(), reader.uint(), reader.uint()
            if clock > clocks.get(client, 0):
                return True
            if blocks == 1:
                return False  # a keystroke: four numbers say it all
        return any(clock > known for clock, known in _starts(update, clocks))
    except IndexError as error:
        raise MalformedUpdateError("the update ends early") from error


def ends(update: bytes) -> dict[int, int]:
    """`client -> clock` after an update that the document itself emitted, so without gaps."""
    reader = _Reader(update)
    found: dict[int, int] = {}
    for _ in range(reader.uint()):
        blocks, client, clock = reader.uint(), reader.uint(), reader.uint()
        for _ in range(blocks):
            clock += _skip_block(reader, reader.byte())
        found[client] = clock
    return found


def insertions(update: bytes) -> Iterator[tuple[int, int, int]]:
    """What an update that a document emitted brings: client, first clock, clock after the last."""
    reader = _Reader(update)
    for _ in range(reader.uint()):
        blocks, client, start = reader.uint(), reader.uint(), reader.uint()
        clock = start
        for _ in range(blocks):
            info = reader.byte()
            length = _skip_block(reader, info)
            if info == _SKIP:  # the place of what is not in this update
                yield client, start, clock
                start = clock + length
            clock += length
        yield client, start, clock


def same_items(update: bytes, parts: Iterable[bytes]) -> bool:
    """Whether an update brings and deletes exactly what `parts` do, taken together."""
    parts = tuple(parts)
    brings = _covered(one for part in parts for one in insertions(part))
    takes = _covered(one for part in parts for one in deletions(part))
    return (_covered(insertions(update)), _covered(deletions(update))) == (brings, takes)


def _covered(ranges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The same clocks in as few ranges as there can be."""
    found: list[tuple[int, int, int]] = []
    for client, start, end in sorted(one for one in ranges if one[1] < one[2]):
        if found and found[-1][0] == client and start <= found[-1][2]:
            found[-1] = (client, found[-1][1], max(end, found[-1][2]))
        else:
            found.append((client, start, end))
    return found


def growth(update: bytes) -> tuple[int, int]:
    """How many elements an update brings, and how deep they are nested in one another.

    Raises MalformedUpdateError.
    """
    hangs: dict[Id, tuple[bool, Id]] = {}  # where each element is: (inside or beside, of what)
    reader = _Reader(update)
    try:
        for _ in range(reader.uint()):
            blocks, client, clock = reader.uint(), reader.uint(), reader.uint()
            for _ in range(blocks):
                info = reader.byte()
                start = reader.at
                if info & 0x1F == _TYPE:
                    hangs[client, clock] = _hangs_on(reader, info)
                    reader.at = start
                clock += _skip_block(reader, info)
    except IndexError as error:
        raise MalformedUpdateError("the update ends early") from error
    return len(hangs), _deepest(hangs)


def _hangs_on(reader: _Reader, info: int) -> tuple[bool, Id]:
    """Elements have length 1, so a neighbour's id is the neighbour."""
    if info & (_ORIGIN | _RIGHT_ORIGIN):
        return False, (reader.uint(), reader.uint())
    if reader.uint() == 1:
        return True, _ROOT
    return True, (reader.uint(), reader.uint())


def _deepest(hangs: Mapping[Id, tuple[bool, Id]]) -> int:
    """The longest chain of elements one inside the other; what is not in `hangs` counts as 0."""
    depth: dict[Id, int] = {}
    for first in hangs:
        chain = []
        at = first
        while at in hangs and at not in depth:
            depth[at] = 1  # until it is known; a circle, which no document holds, ends here
            chain.append(at)
            at = hangs[at][1]
        for one in reversed(chain):
            inside, other = hangs[one]
            around = depth.get(other, 0)
            depth[one] = around + 1 if inside else max(around, 1)
    return max(depth.values(), default=0)


def leaves_over(rest: bytes, clocks: Mapping[int, int]) -> bool:
    """Whether `get_update(update, state)` after applying still holds something.

    It must hold no block, and its delete set must lie inside the state vector.
    """
    try:
        reader = _Reader(rest)
        if reader.uint() != 0:
            return True
        return any(end > clocks.get(client, 0) for client, end in _deleted(reader))
    except IndexError as error:
        raise MalformedUpdateError("the update ends early") from error


def deletions(update: bytes) -> list[tuple[int, int, int]]:
    """What an update deletes: client, first clock, clock behind the last. Raises
    MalformedUpdateError.
    """
    reader = _Reader(update)
    try:
        for _ in range(reader.uint()):
            blocks, _, _ = reader.uint(), reader.uint(), reader.uint()
            for _ in range(blocks):
                _skip_block(reader, reader.byte())
        return [*_ranges(reader)]
    except IndexError as error:
        raise MalformedUpdateError("the update ends early") from error


def links(update: bytes) -> set[Id]:
    """The items that blocks of an update are put right behind, were each unit of a text an item.

    Raises MalformedUpdateError.
    """
    found: set[Id] = set()
    reader = _Reader(update)
    try:
        for _ in range(reader.uint()):
            blocks, _, _ = reader.uint(), reader.uint(), reader.uint()
            for _ in range(blocks):
                info = reader.byte()
                start = reader.at
                if info & 0x1F not in (_GC, _SKIP):
                    if info & _ORIGIN:
                        found.add((reader.uint(), reader.uint()))
                    if info & _RIGHT_ORIGIN:
                        found.add((reader.uint(), reader.uint() - 1))
                reader.at = start
                _skip_block(reader, info)
    except IndexError as error:
        raise MalformedUpdateError("the update ends early") from error
    return found


def texts(update: bytes) -> list[tuple[int, int, str]]:
    """The texts in an update: client, clock, text. Raises MalformedUpdateError."""
    found = []
    reader = _Reader(update)
    try:
        for _ in range(reader.uint()):
            blocks, client, clock = reader.uint(), reader.uint(), reader.uint()
            for _ in range(blocks):
                info = reader.byte()
                length = _skip_block(reader, info)
                if info & 0x1F == _STRING:
                    found.append((client, clock, reader.last_text))
                clock += length
    except IndexError as error:
        raise MalformedUpdateError("the update ends early") from error
    return found


def _deleted(reader: _Reader) -> Iterator[tuple[int, int]]:
    return ((client, end) for client, _, end in _ranges(reader))


def _ranges(reader: _Reader) -> Iterator[tuple[int, int, int]]:
    for _ in range(reader.uint()):
        client = reader.uint()
        for _ in range(reader.uint()):
            start = reader.uint()
            yield client, start, start + reader.uint()


def _starts(update: bytes, clocks: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """For each block: where it starts, and how far its client is known by then."""
    reader = _Reader(update)
    for _ in range(reader.uint()):
        blocks, client, clock = reader.uint(), reader.uint(), reader.uint()
        known = clocks.get(client, 0)
        for _ in range(blocks):
            info = reader.byte()
            length = _skip_block(reader, info)
            if info & 0x1F != _SKIP:
                yield clock, known
                known = max(known, clock + length)
            clock += length


def _skip_block(reader: _Reader, info: int) -> int:
    """Moves past one block and returns its length in clocks."""
    kind = info & 0x1F
    if kind in (_GC, _SKIP):
        return reader.uint()
    if info & _ORIGIN:
        reader.uint(), reader.uint()
    if info & _RIGHT_ORIGIN:
        reader.uint(), reader.uint()
    if not info & (_ORIGIN | _RIGHT_ORIGIN):
        if reader.uint() == 1:
            reader.blob()  # the parent is a root type, by name
        else:
            reader.uint(), reader.uint()
        if info & _PARENT_SUB:
            reader.blob()
    content = _CONTENT.get(kind)
    if content is None:
        raise MalformedUpdateError(f"unknown content {kind}")
    return content(reader)


def _one(*steps: Callable[[_Reader], object]) -> Callable[[_Reader], int]:
    def skip(reader: _Reader) -> int:
        for step in steps:
            step(reader)
        return 1

    return skip


def _many(step: Callable[[_Reader], object]) -> Callable[[_Reader], int]:
    def skip(reader: _Reader) -> int:
        count = reader.uint()
        for _ in range(count):
            step(reader)
        return count

    return skip


def _type(reader: _Reader) -> int:
    if reader.uint() in _NAMED_TYPES:
        reader.blob()
    return 1


def _any(reader: _Reader) -> None:
    """One value in lib0's `any` encoding."""
    kind = reader.byte()
    skip = _ANY.get(kind)
    if skip is None:
        raise MalformedUpdateError(f"unknown value {kind}")
    skip(reader)


def _any_integer(reader: _Reader) -> None:
    while reader.byte() >= 0x80:
        pass


def _any_object(reader: _Reader) -> None:
    for _ in range(reader.uint()):
        reader.blob()
        _any(reader)


def _any_array(reader: _Reader) -> None:
    for _ in range(reader.uint()):
        _any(reader)


def _nothing(_reader: _Reader) -> None:
    """undefined, null, true and false are their first byte."""


def _bytes(count: int) -> Callable[[_Reader], None]:
    return lambda reader: reader.skip(count)


_ANY: Final[Mapping[int, Callable[[_Reader], None]]] = {
    127: _nothing,
    126: _nothing,
    125: _any_integer,
    124: _bytes(4),
    123: _bytes(8),
    122: _bytes(8),
    121: _nothing,
    120: _nothing,
    119: _Reader.blob,
    118: _any_object,
    117: _any_array,
    116: _Reader.blob,
}

_CONTENT: Final[Mapping[int, Callable[[_Reader], int]]] = {
    1: _Reader.uint,  # deleted
    2: _many(_Reader.blob),  # JSON values
    3: _one(_Reader.blob),  # binary
    4: _Reader.text_length,
    5: _one(_Reader.blob),  # embed
    6: _one(_Reader.blob, _Reader.blob),  # format: key, value
    7: _type,
    8: _many(_any),
    9: _one(_Reader.blob, _any),  # subdocument: guid, options
}
