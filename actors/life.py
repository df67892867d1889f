"""The life of a slot, as one table. An event that is not in a state's row is illegal there.

`docs/reference/life-of-an-actor.md` is drawn from it (`actors.life_drawing`).
"""

from __future__ import annotations

from typing import Final, Literal

State = Literal["blank", "activating", "active", "degraded", "draining", "dead", "fenced"]
Event = Literal[
    "activate", "loaded", "refused", "degrade", "recover", "drain", "closed", "failed", "fence"
]

LIFE: Final[dict[State, dict[Event, State]]] = {
    "blank": {"activate": "activating", "failed": "dead", "fence": "fenced"},
    "activating": {
        "loaded": "active",
        "refused": "blank",
        "failed": "dead",
        "fence": "fenced",
    },
    "active": {
        "degrade": "degraded",
        "drain": "draining",
        "failed": "dead",
        "fence": "fenced",
    },
    "degraded": {
        "recover": "active",
        "drain": "draining",
        "failed": "dead",
        "fence": "fenced",
    },
    "draining": {"closed": "blank", "failed": "dead", "fence": "fenced"},
    "dead": {},
    "fenced": {},
}

SERVING: Final[frozenset[State]] = frozenset({"active", "degraded"})  # calls are answered there

STATES: Final[dict[State, str]] = {
    "blank": "Started, holds nothing; waits in the warm pool, or for its next document",
    "activating": "Opens the document's file and loads it; nobody is answered yet",
    "active": "Answers for exactly one document, under one epoch",
    "degraded": "As active, but storage refused a commit: reads are answered, writes are"
    " `storage_unavailable`; the document probes its file until a write succeeds",
    "draining": "Accepts nothing more, answers what it accepted, writes the final checkpoint",
    "dead": "The process has left; the next opening of its document makes sure of that",
    "fenced": "As dead, because its node is gone or somebody else has the document now",
}

EVENTS: Final[dict[Event, str]] = {
    "activate": "The Directory hands it a document",
    "loaded": "The document is loaded and its links listen",
    "refused": "The document could not be opened; its file is closed again",
    "degrade": "A commit failed and the document could be loaded again",
    "recover": "The probe was written: storage takes writes again",
    "drain": "Idle, or nobody does a thing in its open tabs; deleted, making room, its node is"
    " drained, or the server stops",
    "closed": "The file is closed and what it took of memory is given back",
    "failed": "The document was given up, closing failed, or no Directory was heard for a minute",
    "fence": "The parent process is not this node's raylet any more",
}


def after(state: State, event: Event) -> State:
    """The state that follows. Raises KeyError for an event that is illegal there."""
    return LIFE[state][event]
