"""The part of lib0's encoding that Yjs's wires use, byte for byte.

A var uint is little endian in groups of seven bits, the high bit of a byte saying that more follow
(lib0 `encoding.writeVarUint`). Strings and byte arrays are a var uint with their length in *bytes*
and then the bytes; strings are UTF-8.
"""

from __future__ import annotations

from typing import Final

MAX_VAR_UINT: Final = 2**64 - 1  # JavaScript stops at 2^53 - 1, yrs at 2^64 - 1
_MAX_SHIFT: Final = 63


class MalformedMessage(ValueError):
    """Bytes that no correct peer sends. Says what was wrong, never quotes the bytes."""


_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(128))


def var_uint(value: int) -> bytes:
    """`value` encoded; it must not be negative."""
    if 0 <= value < 128:
        return _ONE_BYTE[value]
    if value < 0:
        raise ValueError("a var uint cannot be negative")
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def var_bytes(value: bytes) -> bytes:
    """A byte array with its length in front."""
    return b"".join((var_uint(len(value)), value))


def var_string(value: str) -> bytes:
    """A string with the length of its UTF-8 in front."""
    return var_bytes(value.encode())


class Decoder:
    """Reads one message from front to back.

    Nothing is allocated by a length the message claims: a length is checked against what is there.

    Raises:
        MalformedMessage: from every method, when the bytes end early or say something impossible.
    """

    __slots__ = ("_data", "_end", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self._data = data
        self._end = len(data)
        self.position = position

    @property
    def done(self) -> bool:
        """Whether everything was read."""
        return self.position >= self._end

    def byte(self) -> int:
        position = self.position
        if position >= self._end:
            raise MalformedMessage("the message ends early")
        self.position = position + 1
        return self._data[position]

    def var_uint(self) -> int:
        data, end, position = self._data, self._end, self.position
        value = shift = 0
        while position < end:
            byte = data[position]
            position += 1
            value |= (byte & 127) << shift
            if byte < 128:
                if value > MAX_VAR_UINT:
                    break
                self.position = position
                return value
            shift += 7
            if shift > _MAX_SHIFT:
                break
        else:
            raise MalformedMessage("the message ends early")
        raise MalformedMessage("a number is too large")

    def var_bytes(self) -> bytes:
        length = self.var_uint()
        start = self.position
        stop = start + length
        if stop > self._end:
            raise MalformedMessage("a length goes beyond the message")
        self.position = stop
        return self._data[start:stop]

    def var_string(self) -> str:
        try:
            return self.var_bytes().decode()
        except UnicodeDecodeError as error:
            raise MalformedMessage("a string is not UTF-8") from error

    def rest(self) -> bytes:
        """Whatever was not read yet; may be empty."""
        start, self.position = self.position, self._end
        return self._data[start:] if start else self._data
