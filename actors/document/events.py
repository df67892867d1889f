"""The events of one open document: recorded with what they tell of, and read from there.

Nobody who changes something says that it is an event. The keeper hands over whatever it puts into
the batch that gathers, and the events of it go into the same batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from msgspec import UNSET

from actors.document.roster import Roster
from shared.document.live_document import REPAIR, LiveDocument
from shared.events.cursor import EventCursors, Position
from shared.events.derive import derive
from shared.events.digests import Digests, Ended, Waiting
from shared.events.kinds import About, Draft
from shared.events.log import EventLog
from shared.events.mentions import Handles, handles
from shared.history.versions import ref_of
from shared.limits import EXPIRY_WARNING_MS, MAX_AGENTS, PROBE_S
from shared.markdown.schema import plain_text
from shared.protocol import Caller
from shared.stored import Effects, Loaded, StoredVersion
from shared.stored_annotations import Annotations
from shared.times import iso


class Events:
    """See the module. `load` before anything else; `close` at the end.

    Args:
        clock: Milliseconds since 1970.
        store: Puts rows into the batch that gathers.
        writable: Whether the store takes writes now.
        is_agent: Whether a principal is somebody's agent.
        expires_at: When the document goes by itself, in milliseconds; None: never.

    Attributes:
        log: What happened.
        roster: Who has joined.
    """

    def __init__(
        self,
        clock: Callable[[], int],
        store: Callable[[Annotations], None],
        writable: Callable[[], bool],
        is_agent: Callable[[str], bool],
        expires_at: int | None = None,
    ) -> None:
        self._clock = clock
        self._store = store
        self._writable = writable
        self._is_agent = is_agent
        self._expires_at = expires_at
        self.log: EventLog
        self.cursors: EventCursors
        self.roster = Roster(clock, self._store_roster)
        self._live: LiveDocument
        self._digests: Digests
        self._before = Annotations()
        self._followers: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._warned = False
        self._closed = False

    def load(self, loaded: Loaded, live: LiveDocument) -> None:
        """Takes what is stored, in the place of all that was known."""
        stored = loaded.annotations
        self._live = live
        self.log = EventLog(stored.events, stored.events_floor)
        self.cursors = EventCursors(loaded.secret)
        told = {e.principal: e.at for e in self.log if e.type == "document.changed"}
        self._digests = Digests(stored.digests, told)
        self._before = Annotations(
            dict(stored.threads), dict(stored.messages), dict(stored.suggestions)
        )
        self._warned = any(event.type == "document.expiring" for event in self.log)
        self.roster.load(stored.roster)
        self._arm()

    def close(self) -> None:
        """Nothing more is told by itself. Idempotent."""
        self._closed = True
        self._disarm()

    # --- what goes by ----------------------------------------------------------------------------

    def gathered(self, effects: Effects) -> None:
        """A transaction of the document."""
        update = effects.update
        blocks = tuple(dict.fromkeys(row.block_id for row in effects.rows))
        if not blocks or update.principal == REPAIR.principal or update.via == "repair":
            return
        if self._digests.holds(update.principal, update.at, blocks):
            return  # as of nearly every keystroke; what is in them is looked at when it ends
        scan = () if self._is_agent(update.principal) else self._mentioning(blocks)
        now, row = self._digests.edited(update.principal, update.at, blocks, scan)
        new = Annotations()
        if not now.empty:
            new = self._numbered([_changed(update.principal, now)], update.at)
        if row is not None:
            new.digests[row.principal] = row
        self._put(new)

    def annotated(self, new: Annotations) -> None:
        """Threads, messages and suggestions that were handed to the store just before."""
        drafts = derive(new, self._before, self._mentioned)
        self._before.add(Annotations(new.threads, new.messages, new.suggestions))
        self.tell(drafts)

    def versioned(self, version: StoredVersion) -> None:
        """A version was made, or got a name. Those that come by themselves are nobody's doing."""
        about = About(version=ref_of(version))
        if version.kind == "restored":
            self.tell([Draft("version.restored", version.principal, about)])
        elif version.name is not None:
            self.tell([Draft("version.saved", version.principal, about)])

    def tell(self, drafts: Iterable[Draft]) -> None:
        """Records events, in the batch that gathers."""
        self._put(self._numbered(drafts, max(self._clock(), self._live.at)))

    # --- what is due -----------------------------------------------------------------------------

    def settle(self) -> None:
        """Records what is due by now. Of no use while the store takes no writes: later, then."""
        if not self._writable():
            return
        now = self._clock()
        for ended, row in self._digests.ended(now):
            self._put(Annotations(digests={row.principal: row}))
            self._end(ended)
        for principal in self.roster.over(now):
            self.leave(principal)
        if self._expires_soon(now):
            self._warned = True
            about = About(expires_at=iso(self._expires_at or now))
            self.tell([Draft("document.expiring", REPAIR.principal, about)])
        self._arm()

    def _end(self, ended: Ended) -> None:
        waiting, who = ended.waiting, ended.principal
        if waiting.blocks:
            self.tell([_changed(who, waiting)])
        if self._is_agent(who):
            return
        blocks = self._live.index.ids if waiting.everywhere else (*waiting.blocks, *waiting.scan)
        names = self._handles()
        for block_id in self._mentioning(blocks):
            for to in sorted(names.mentioned(self._text(block_id)) - {who}):
                if not self._digests.mentioned(to):
                    row = self._digests.mention(to)
                    self._put(Annotations(digests={to: row}))
                    self.tell([Draft("mention", who, About(block_id=block_id), to)])

    def _expires_soon(self, now: int) -> bool:
        due = self._expires_at is not None and now >= self._expires_at - EXPIRY_WARNING_MS
        return due and not self._warned

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        self._disarm()
        if self._closed:
            return
        ends = [self._digests.next_end(), self.roster.next_end()]
        if self._expires_at is not None and not self._warned:
            ends.append(self._expires_at - EXPIRY_WARNING_MS)
        due = [end for end in ends if end is not None]
        if due:
            wait_s = max(0.0, (min(due) - self._clock()) / 1000)
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._ring)

    def _ring(self) -> None:
        if self._writable():
            self.settle()
        else:
            self._timer = asyncio.get_running_loop().call_later(PROBE_S, self._ring)

    # --- agents ----------------------------------------------------------------------------------

    def join(self, caller: Caller, status: str) -> None:
        """Raises Overloaded: as many agents have joined as may."""
        if self.roster.join(caller, status):
            self.tell([Draft("agent.joined", caller.principal)])
        self._arm()

    def leave(self, principal: str) -> None:
        """Takes an agent off the roster, if it is there."""
        if self.roster.leave(principal):
            self.tell([Draft("agent.left", principal)])

    def follows(self, caller: Caller) -> None:
        """Whoever reads events can be mentioned, though they have written nothing yet."""
        if len(self._followers) < MAX_AGENTS or caller.principal in self._followers:
            self._followers[caller.principal] = caller.name

    def name_of(self, principal: str) -> str:
        """What a principal is called here."""
        return self._live.names.get(principal) or self._followers.get(principal, principal)

    # --- inside ----------------------------------------------------------------------------------

    def start(self) -> Position:
        """Where who follows from now on begins."""
        return Position(self.log.head)

    def _numbered(self, drafts: Iterable[Draft], at: int) -> Annotations:
        floor = self.log.floor
        rows = self.log.add(drafts, at)
        return Annotations(
            events=rows, events_floor=self.log.floor if self.log.floor > floor else 0
        )

    def _put(self, new: Annotations) -> None:
        if new:
            self._store(new)
            if new.digests:
                self._arm()

    def _store_roster(self, new: Annotations) -> bool:
        if not self._writable():
            return False
        self._store(new)
        return True

    def _handles(self) -> Handles:
        return handles(self._live.names, self.roster.names, self._followers)

    def _mentioned(self, text: str) -> frozenset[str]:
        return self._handles().mentioned(text)

    def _mentioning(self, blocks: Iterable[str]) -> tuple[str, ...]:
        """Those in which somebody may be mentioned."""
        there = (one for one in dict.fromkeys(blocks) if one in self._live.index)
        return tuple(one for one in there if "@" in self._text(one))

    def _text(self, block_id: str) -> str:
        return plain_text(self._live.index.node(block_id))


def _changed(principal: str, waiting: Waiting) -> Draft:
    about = About(blocks=waiting.blocks, more_blocks=waiting.more or UNSET)
    return Draft("document.changed", principal, about)
