"""An active document as the Directory knows it."""

from __future__ import annotations

import msgspec

from actors.ports import Holder
from shared.protocol import Caller, Report, Route
from shared.tree import Block


class Seed(msgspec.Struct, frozen=True):
    """What a document being created starts with."""

    blocks: tuple[Block, ...]
    caller: Caller
    title: str | None


class Held(msgspec.Struct):
    """An active document.

    Attributes:
        used: The loop's time, in seconds, at which it was last busy.
        state: Of its slot, as last heard; see actors.life.
        reported: What it last said of itself.
        noted: Title, last change and who left when, as the catalog has them from it.
        sole_gateway, still_s: Of the last heartbeat; see Beat.
    """

    route: Route
    holder: Holder
    used: float
    busy: bool = True
    state: str = "active"
    reported: Report | None = None
    noted: tuple[str, int, dict[str, int]] | None = None
    sole_gateway: str = ""
    still_s: float = 0.0
