"""When a document gets a version by itself, and how versions are named.

A version is a state that is listed and that nothing merges away: after a minute of quiet or ten of
activity, before what may go wrong, and whenever somebody names one. It takes a row, not a copy:
the log holds the state.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from shared.errors import InvalidArgument
from shared.limits import MAX_VERSION_NAME, VERSION_ACTIVITY_MS, VERSION_QUIET_MS, VERSION_SHARE
from shared.patch.types import Insert, Plan
from shared.slugs import single_line
from shared.stored import StoredUpdate, StoredVersion, VersionKind

_REF: Final = re.compile(r"v([1-9][0-9]{0,17})\Z")
_LOOKS_LIKE_A_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d")


class Moment(msgspec.Struct, frozen=True):
    """A state of the document: its last update, when that was (ms), the change feed's head."""

    seq: int
    at: int
    change_seq: int


class VersionLog:
    """What is due, of one document. Told of every update, in order.

    Attributes:
        number: Of the newest version; 0: there is none.
        head: The state as of now.
    """

    def __init__(self, newest: StoredVersion | None, head: Moment) -> None:
        self.number = newest.number if newest else 0
        self.head = head
        self._seq = newest.seq if newest else 0
        self._change_seq = newest.change_seq if newest else -1
        # When the first change since was made. Of a document just loaded it is not known: it is as
        # if all of them had been made at the last one.
        self._began = head.at

    @property
    def changed(self) -> bool:
        """Whether a reader would see a difference to the newest version."""
        return self.head.seq > self._seq and self.head.change_seq != self._change_seq

    @property
    def newest_is_now(self) -> bool:
        """Whether the newest version holds the document as it is, to the last attribute."""
        return self.number > 0 and self.head.seq == self._seq

    def follow(self, update: StoredUpdate) -> StoredVersion | None:
        """Takes in an update; the version of before it, when one was due."""
        due = self.due(update.at)
        if due is None and self.changed and update.at > self.head.at:
            # Never between transactions of one instant: they may be two halves of one act.
            active = self.head.at - self._began >= VERSION_ACTIVITY_MS
            due = self.make("activity") if active else None
        if not self.changed:
            self._began = update.at
        self.head = Moment(update.seq, update.at, update.change_seq)
        return due

    def due(self, now: int) -> StoredVersion | None:
        """The version of a document that has been quiet for long enough; None: it has one."""
        quiet = now - self.head.at >= VERSION_QUIET_MS
        return self.make("quiet") if quiet and self.changed else None

    def make(
        self,
        kind: VersionKind,
        principal: str = "server",
        name: str | None = None,
        source: int | None = None,
    ) -> StoredVersion:
        """A version of now, whether due or not."""
        self.number += 1
        self._seq, self._change_seq = self.head.seq, self.head.change_seq
        at, change_seq = self.head.at, self.head.change_seq
        return StoredVersion(
            self.number, self.head.seq, at, change_seq, kind, principal, name, source
        )


def rewrites_much(plan: Plan, blocks: int) -> bool:
    """Whether a plan touches more than a fifth of a document of so many blocks."""
    touched = {
        number if isinstance(op, Insert) else op.block_id for number, op in enumerate(plan.ops)
    }
    return len(touched) > blocks * VERSION_SHARE


def ref_of(version: StoredVersion) -> str:
    """How a version is told: `v` and its number."""
    return f"v{version.number}"


def parse_version(text: str) -> int | str:
    """What a caller called a version: its number, or its name."""
    match = _REF.match(text.strip())
    return int(match[1]) if match else single_line(text)


def version_name(text: str) -> str:
    """A name for a version, on one line. Raises InvalidArgument: it cannot be one."""
    name = single_line(text)
    if not 0 < len(name) <= MAX_VERSION_NAME:
        raise InvalidArgument(f"name: 1 to {MAX_VERSION_NAME} characters.", field="name")
    if _REF.match(name) or _LOOKS_LIKE_A_TIME.match(name) or name.isdigit():
        raise InvalidArgument(
            "name: it reads like a version's number, a cursor or a time; choose another.",
            field="name",
        )
    return name
