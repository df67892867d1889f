"""The life of a slot, as one table. An event that is not in a state's row is illegal there."""

from __future__ import annotations

from typing import Final, Literal

State = Literal["blank", "activating", "active", "draining", "dead", "fenced"]
Event = Literal["activate", "loaded", "refused", "drain", "closed", "failed", "fence"]

# `degraded` (loaded, storage refuses writes) is the document's own: the slot serves it as active.
LIFE: Final[dict[State, dict[Event, State]]] = {
    "blank": {"activate": "activating", "failed": "dead", "fence": "fenced"},
    "activating": {
        "loaded": "active",
        "refused": "blank",
        "failed": "dead",
        "fence": "fenced",
    },
    "active": {"drain": "draining", "failed": "dead", "fence": "fenced"},
    "draining": {"closed": "blank", "failed": "dead", "fence": "fenced"},
    "dead": {},
    "fenced": {},
}


def after(state: State, event: Event) -> State:
    """The state that follows. Raises KeyError for an event that is illegal there."""
    return LIFE[state][event]
