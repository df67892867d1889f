"""How fast one socket may send: frames and bytes per second, with room for bursts.

Past it nothing is dropped and nobody is closed: the server reads no further for a moment, and the
client's own network holds it back.
"""

from __future__ import annotations

from shared.limits import (
    BURST_BYTES,
    BURST_FRAMES,
    ECHO_SHARE,
    SOCKET_BYTES_PER_S,
    SOCKET_FRAMES_PER_S,
)


class Pace:
    """The account of one socket. Times are seconds of a clock that never goes back."""

    def __init__(self) -> None:
        self._frames_paid = 0.0  # when all frames so far are paid for, at the steady rate
        self._bytes_paid = 0.0

    def spend(self, now: float, size: int, *, echo: bool = False) -> float:
        """Counts a frame of `size` bytes; returns how many seconds to wait before the next.

        `echo`: It only repeated to us what we had sent. Unmodified clients do that with everybody's
        presence, so that in a full room most of what they send is echoes.
        """
        frames = 1 / ECHO_SHARE if echo else 1.0
        self._frames_paid = max(self._frames_paid, now) + frames / SOCKET_FRAMES_PER_S
        self._bytes_paid = max(self._bytes_paid, now) + size / SOCKET_BYTES_PER_S
        ahead = max(
            self._frames_paid - BURST_FRAMES / SOCKET_FRAMES_PER_S,
            self._bytes_paid - BURST_BYTES / SOCKET_BYTES_PER_S,
        )
        return max(0.0, ahead - now)
