"""From what is left of a document's file to content that a load takes, and what that costs.

Values in, values out; `actors.upkeep.repair` does it to files. While nothing of the document or
its index is lost, history, change feed, cursors and views stay as they are. Otherwise the feed
starts anew under a new secret, so that old cursors are refused and never answered wrongly.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from actors.storage.checkpointing import fits
from actors.storage.file_content import FileContent
from actors.upkeep.examine import meta_problems, row_problems, stored_index
from actors.upkeep.replay import Replay, ReplayError
from actors.upkeep.walk import Walk
from shared.errors import DocumentCorrupt
from shared.index.block_index import BlockIndex, SavedIndex
from shared.limits import MAX_DEPTH
from shared.stored import Checkpoint, StoredUpdate
from shared.yjs.foreign import foreign_children, remove_foreign

AUTHOR: Final = "server"
Mint = Callable[[], str]


class BeyondRepairError(Exception):
    """Nothing of the document can be recovered; the message says why."""


class Mended(msgspec.Struct):
    """What the repaired file holds, what was done for it, and what is missing from it."""

    content: FileContent
    done: list[str]
    lost: list[str]


def mend(content: FileContent, doc_id: str, now: int, mint: Mint, secret: bytes) -> Mended:
    """Content without the problems of `content`.

    Args:
        content: All that could be read of the file.
        doc_id: Whose file it is.
        now: Milliseconds since 1970.
        mint: A block id; whoever takes it makes sure that it is new.
        secret: Keys the cursors when the old ones must be refused.

    Raises:
        BeyondRepairError: There is nothing to make a document of.
    """
    return _Mending(content, doc_id, now, mint, secret).result()


class _Mending:
    def __init__(
        self, content: FileContent, doc_id: str, now: int, mint: Mint, secret: bytes
    ) -> None:
        self.content = content
        self.doc_id = doc_id
        self.now = max([now, *(update.at for update in content.updates)])
        self.mint = mint
        self.secret = secret
        self.done: list[str] = []
        self.lost: list[str] = []
        self.walk = Walk(content)
        self.anew = False  # the change feed and the index start again

    def result(self) -> Mended:
        updates = list(self.walk.kept)
        checkpoints = {c.seq: c for c in self.walk.sound.values()}
        if self.walk.base is not None:
            checkpoints[self.walk.base.seq] = self.walk.base
        self._note_checkpoints()
        replay = self._whole_replay(checkpoints)
        before = replay.doc.get_state()
        if not self.walk.whole:
            self._take_what_applies(replay)
        self._take_out_foreign(replay)
        extra = replay.doc.get_update(before) if self.anew else b""
        index = self._index(replay)
        end = self.walk.end
        if extra not in (b"", b"\0\0"):
            end += 1
            updates.append(
                StoredUpdate(end, self.now, AUTHOR, "repair", extra, b"", self._head() + 1)
            )
        if self.anew:
            data = replay.doc.get_update()
            checkpoints[end] = Checkpoint(end, self.now, data, index)
        return Mended(self._content(updates, checkpoints, end), self.done, self.lost)

    # --- the state -------------------------------------------------------------------------------

    def _note_checkpoints(self) -> None:
        self.done += [f"Checkpoint {seq} was left out." for seq in sorted(self.walk.bad)]
        if self.walk.base is not None and self.walk.breaks:
            text = f"the history before update {self.walk.base.seq + 1}; no text is missing"
            self.lost.append(f"The log is broken: {text}.")

    def _whole_replay(self, checkpoints: dict[int, Checkpoint]) -> Replay:
        """The state the walk ended in; of a walk that found no beginning, what a damaged
        checkpoint still says.
        """
        walk = self.walk
        if walk.base is not None or walk.kept or walk.last == 0:
            return walk.replay
        for checkpoint in sorted(self.content.checkpoints, key=lambda c: -c.seq):
            try:
                replay = Replay(checkpoint)
            except ValueError:
                continue
            if len(replay.fragment.children) == 0:
                continue
            self.anew = True
            self.lost.append(
                f"Checkpoint {checkpoint.seq} is damaged and all there is: its text was taken as "
                "it stands and may be wrong in places."
            )
            walk.end = checkpoint.seq
            walk.behind = [update for update in walk.behind if update.seq > checkpoint.seq]
            checkpoints.clear()
            return replay
        if not any(_applies(update) for update in walk.behind):
            raise BeyondRepairError("Neither a checkpoint nor the log can be read.")
        return walk.replay

    def _take_what_applies(self, replay: Replay) -> None:
        """Of the updates behind a broken place, those that do not build on what is missing."""
        self.anew = True
        there = {update.seq: update for update in self.walk.behind}
        lost = []
        inside = {seq for update in there.values() for seq in range(update.first, update.seq)}
        for seq in range(self.walk.end + 1, self.walk.last + 1):
            if seq in inside:
                continue  # the merged update that holds it decides
            update = there.get(seq)
            if update is None or not replay.can_apply(update.data):
                lost.append(seq)
            else:
                replay.apply(update.data)
        known = {update.seq: update for update in self.content.updates}
        self.lost += [_told(seq, known.get(seq)) for seq in lost]
        self.done.append(
            f"The log was cut before update {self.walk.end + 1}; "
            f"{self.walk.last - self.walk.end - len(lost)} later updates still applied."
        )

    def _take_out_foreign(self, replay: Replay) -> None:
        fragment = replay.fragment
        with fragment.doc.transaction():
            foreign = foreign_children(fragment)
            if foreign:
                remove_foreign(fragment, foreign, block_id=self.mint())
        if foreign:
            self.anew = True
            self.done.append("Content of the root that is no block was turned into a paragraph.")

    # --- the index and the feed ------------------------------------------------------------------

    def _index(self, replay: Replay) -> bytes:
        """The block index of the state, built again when the stored one does not fit it."""
        saved: SavedIndex | None
        try:
            saved = stored_index(self.walk)
        except DocumentCorrupt:
            saved = None
        if self.walk.end and saved is not None and not saved.entries:
            saved = None
        if saved is None or not fits(replay.fragment, saved.entries):
            self.done.append("The block index was built again.")
            self.anew = True
        elif row_problems(self.content, [entry.id for entry in saved.entries]):
            self.anew = True
        if meta_problems(self.content, self.doc_id) or self.content.unreadable:
            self.anew = True
        if not self.anew:
            return b""
        self.done.append("The change feed starts anew; cursors and views of before are refused.")
        index, _ = BlockIndex.attach(replay.fragment, saved, self.mint, self.now)
        try:
            return index.save()
        finally:
            index.detach()

    def _head(self) -> int:
        numbers = [row.seq for row in self.content.rows]
        numbers += [update.change_seq for update in self.content.updates]
        numbers.append(self.content.annotations.highest)
        marked = self.content.meta.get("head")
        return max([marked if isinstance(marked, int) else 0, *numbers])

    def _content(
        self, updates: list[StoredUpdate], checkpoints: dict[int, Checkpoint], end: int
    ) -> FileContent:
        old, head = self.content, self._head()
        meta: dict[str, Any] = {
            "epoch": 0,
            "depth": MAX_DEPTH,
            "floor": 0,
            "secret": self.secret,
            **{key: value for key, value in old.meta.items() if isinstance(value, int | bytes)},
            "doc_id": self.doc_id,
            "update_seq": end,
            "head": head,
        }
        if isinstance(old.meta.get("title"), str):
            meta["title"] = old.meta["title"]
        if self.anew:
            head += 1
            meta |= {"secret": self.secret, "head": head, "floor": head}
        meta["at"] = max([int(meta.get("at", 0)), *(update.at for update in updates)])
        kept = tuple(sorted(checkpoints.values(), key=lambda c: c.seq))
        content = FileContent(
            meta,
            tuple(updates),
            checkpoints=kept,
            principals=old.principals,
            budgets=old.budgets,
            readers=old.readers,
            people=old.people,
            annotations=old.annotations,
        )
        first = min((u.seq for u in updates), default=end)
        there = {u.seq for u in updates}
        content.versions = tuple(
            v for v in old.versions if v.seq in checkpoints or first <= v.seq <= end
        )
        content.authors = tuple(one for one in old.authors if one[0] in there)
        if self.anew and updates:
            last = msgspec.structs.replace(updates[-1], change_seq=head)
            content.updates = (*updates[:-1], last)
        if not self.anew:
            content.rows, content.views = old.rows, old.views
        if not self.lost:
            content.answers = old.answers
        return content


def _applies(update: StoredUpdate) -> bool:
    try:
        Replay().apply(update.data)
    except ReplayError:
        return False
    return True


def _told(seq: int, update: StoredUpdate | None) -> str:
    if update is None:
        return f"Update {seq}: nothing of it is left."
    at = datetime.fromtimestamp(update.at / 1000, UTC).isoformat(timespec="seconds")
    return f"Update {seq} by {update.principal} at {at}, {len(update.data)} bytes."
