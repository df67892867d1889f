"""What a document stores and is loaded from, as values."""

from __future__ import annotations

from typing import Literal

import msgspec

from shared.feed.block_changes import Row
from shared.stored_annotations import Annotations

Via = Literal["editor", "agent", "seed", "repair"]
VersionKind = Literal["quiet", "activity", "before_write", "before_restore", "restored", "named"]
AuthoredKind = Literal["inserted", "deleted", "other"]


class StoredUpdate(msgspec.Struct, frozen=True):
    """One transaction of the document, or several that followed each other, merged into one.

    Attributes:
        seq: Position in the log, from 1, without gaps within a file.
        at: Milliseconds since 1970; never before the update it follows.
        data: The Yjs update as the document emitted it.
        splice: What it did to the block index (`shared.index.block_index`); empty: nothing.
        change_seq: Head of the change feed after it.
        merged: How many transactions it holds. Number, time and author are the last one's; who
            made the others is beside it, as `Authored`.
    """

    seq: int
    at: int
    principal: str
    via: Via
    data: bytes
    splice: bytes
    change_seq: int
    merged: int = 1

    @property
    def first(self) -> int:
        """The number of the first transaction it holds."""
        return self.seq - self.merged + 1


class Authored(msgspec.Struct, frozen=True):
    """Who made a part of what a merged update holds.

    Attributes:
        kind: What it says of the items `clock_from` up to, not including, `clock_to` of the Yjs
            client `client`. `other`: a transaction that neither inserted nor deleted items.
        at: Of the last transaction of the range, in milliseconds since 1970.
    """

    principal: str
    via: Via
    kind: AuthoredKind
    client: int
    clock_from: int
    clock_to: int
    at: int


class StoredVersion(msgspec.Struct, frozen=True):
    """A state of the document that is listed, and that nothing merges away.

    Attributes:
        number: Rises with each; told as `v<number>`.
        seq, at, change_seq: The last update it holds, its time (ms), the change feed's head then.
        name: Given by hand; no other version of the document has it.
        principal: Who named it, or whose write it stands before, or is.
        source: The version that it restored.
    """

    number: int
    seq: int
    at: int
    change_seq: int
    kind: VersionKind
    principal: str
    name: str | None = None
    source: int | None = None


class Checkpoint(msgspec.Struct, frozen=True):
    """The whole state after update `seq`, with the whole block index of that instant."""

    seq: int
    at: int
    data: bytes
    block_index: bytes


class StoredState(msgspec.Struct, frozen=True):
    """A moment of the document: a checkpoint and the updates from there to it, in order."""

    checkpoint: Checkpoint | None
    updates: tuple[StoredUpdate, ...]

    @property
    def seq(self) -> int:
        """The last update it holds; 0: it is empty."""
        if self.updates:
            return self.updates[-1].seq
        return self.checkpoint.seq if self.checkpoint else 0

    @property
    def at(self) -> int:
        """When that was made, in milliseconds since 1970; 0: it is empty."""
        if self.updates:
            return self.updates[-1].at
        return self.checkpoint.at if self.checkpoint else 0

    @property
    def change_seq(self) -> int | None:
        """Head of the change feed then; None: a checkpoint does not say."""
        if self.updates:
            return self.updates[-1].change_seq
        return None if self.checkpoint else 0


class StoredAnswer(msgspec.Struct, frozen=True):
    """The answer of a write that carried an idempotency key."""

    principal: str
    verb: str
    key: str
    arguments: bytes
    answer: bytes
    at: int


class StoredBudget(msgspec.Struct, frozen=True):
    """What a principal has spent of its budgets (`shared.budget`), as of `at` (ms)."""

    principal: str
    data: bytes
    at: int


class StoredReader(msgspec.Struct, frozen=True):
    """A person who has opened the document in an editor. Times in milliseconds since 1970.

    Attributes:
        last_left: The last instant they were reading before they left; None: they never did.
        seen_until: The last instant they were reading since then.
    """

    person: str
    last_left: int | None = None
    seen_until: int | None = None


class StoredWindow(msgspec.Struct, frozen=True):
    """What was done to the document after some instant.

    Attributes:
        principals: Who changed it, by the first thing each did; the server's own repairs are
            nobody's.
        versions: How many versions were saved.
    """

    principals: tuple[str, ...] = ()
    versions: int = 0


class Effects(msgspec.Struct, frozen=True):
    """What one transaction adds to the batch that is gathering.

    Attributes:
        name: The principal's name, for `by`; None: as it is stored.
        superseded: Change rows that `rows` make redundant.
        floor: The change feed's new floor, when it rose.
        depth: The deepest nesting any block has had, when it rose.
    """

    update: StoredUpdate
    name: str | None = None
    rows: tuple[Row, ...] = ()
    superseded: tuple[int, ...] = ()
    floor: int | None = None
    depth: int | None = None


class Loaded(msgspec.Struct, frozen=True):
    """Everything needed to bring a document back, read in one transaction.

    Attributes:
        secret: Keys the cursors' tags; renewed by whatever can take the sequence back.
        update_seq, change_head, at: High-water marks; `seq` and time go on from them.
        depth: The deepest nesting any block has had: a bound for what an update may reach.
        title: The title given at creation; None: the document's first heading is its title.
        updates: The log after the checkpoint, in order.
        views: What was shown to each principal (`shared.views.views`), as it last was stored.
        budgets: What each principal has spent of its budgets (`shared.budget`).
        version: The newest version; None: there is none yet.
        readers: Whoever has opened it, by person.
        people: The person behind each agent that has changed it.
        annotations: Threads, suggestions, events and the roster.
    """

    secret: bytes
    update_seq: int
    change_head: int
    change_floor: int
    at: int
    depth: int
    title: str | None
    checkpoint: Checkpoint | None
    updates: tuple[StoredUpdate, ...]
    rows: tuple[Row, ...]
    principals: dict[str, str]
    views: dict[str, bytes]
    budgets: dict[str, bytes]
    version: StoredVersion | None = None
    readers: dict[str, StoredReader] = {}
    people: dict[str, str] = {}
    annotations: Annotations = msgspec.field(default_factory=Annotations)
