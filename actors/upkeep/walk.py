"""Along a document's log, as far as it is whole: what doctor judges by and repairs from."""

from __future__ import annotations

from actors.storage.file_content import FileContent
from actors.upkeep.replay import Replay, ReplayError, differs, is_usable
from shared.checkup import Problem
from shared.stored import Checkpoint, StoredUpdate


class Walk:
    """The longest history that can be replayed up to the newest state.

    Where the log is broken the walk goes on from the first sound checkpoint behind that place;
    what lies before is history that is lost, not content. With no such checkpoint it ends there.

    Attributes:
        base: The checkpoint it starts from; None: from the empty document.
        kept: The updates after `base`, without a gap.
        behind: Updates behind the place where it ended; empty when it reached the end.
        breaks: What is wrong with the log.
        sound: Checkpoints that hold what the log says, by number.
        bad: What is wrong with the others.
        replay: The document where the walk ended.
        end: The number of the last update it holds.
    """

    def __init__(self, content: FileContent) -> None:
        self._content = content
        self._updates = content.sound_updates
        self._begins = {update.first: update for update in self._updates.values()}
        self._damaged = {
            update.first: update.seq
            for update in content.updates
            if update.seq in content.damaged_updates
        }
        self.breaks: list[Problem] = []
        self.bad: dict[int, Problem] = {}
        self.last = _last_seq(content)
        self.sound = self._usable()
        self.kept: list[StoredUpdate] = []
        self.behind: list[StoredUpdate] = []
        self.base: Checkpoint | None = None
        self.replay = Replay()
        self.end = 0
        self._go()

    @property
    def whole(self) -> bool:
        """Whether it reached the last update."""
        return self.end == self.last

    @property
    def newest(self) -> Checkpoint | None:
        """The newest sound checkpoint it passed."""
        return self.sound[max(self.sound)] if self.sound else None

    def _usable(self) -> dict[int, Checkpoint]:
        usable = {}
        for checkpoint in self._content.checkpoints:
            seq = checkpoint.seq
            if seq in self._content.damaged_checkpoints:
                self.bad[seq] = Problem("checkpoint_damaged", f"Checkpoint {seq} is damaged.")
            elif seq > self.last or not is_usable(checkpoint):
                self._differs(seq)
            else:
                usable[seq] = checkpoint
        return usable

    def _differs(self, seq: int) -> None:
        text = f"Checkpoint {seq} does not hold the document that the log gives."
        self.bad[seq] = Problem("checkpoint_differs", text)

    def _go(self) -> None:
        first = min((u.first for u in self._content.updates), default=self.last + 1)
        if first > 1 and not self._restart(first - 1, exactly=True):
            text = f"The log begins at update {first}, and nothing holds what came before."
            self.breaks.append(Problem("log_gap", text))
            if not self._restart(first, exactly=False):
                self._stop()
                return
        while self.end < self.last:
            trouble = self._step(self.end + 1)
            if trouble is None:
                continue
            self.breaks.append(trouble)
            if not self._restart(self.end + 1, exactly=False):
                self._stop()
                return

    def _step(self, seq: int) -> Problem | None:
        """Goes past the update that begins there, or says why not."""
        update = self._begins.get(seq)
        if update is None:
            if seq in self._damaged:
                return Problem("update_damaged", f"Update {self._damaged[seq]} is damaged.")
            return Problem("log_gap", f"Update {seq} is missing.")
        try:
            self.replay.apply(update.data)
        except ReplayError as error:
            return Problem("does_not_apply", f"Update {update.seq} does not apply: {error}.")
        self.kept.append(update)
        self.end = update.seq
        checkpoint = self.sound.get(self.end)
        if checkpoint is not None and differs(self.replay, checkpoint):
            del self.sound[self.end]
            self._differs(self.end)
        return None

    def _restart(self, seq: int, *, exactly: bool) -> bool:
        """Goes on from the first sound checkpoint at or behind `seq`; False: there is none."""
        at = min((n for n in self.sound if n >= seq), default=None)
        if at is None or (exactly and at != seq):
            return False
        self.base = self.sound[at]
        self.sound = {n: checkpoint for n, checkpoint in self.sound.items() if n >= at}
        self.kept, self.end = [], at
        self.replay = Replay(self.base)
        return True

    def _stop(self) -> None:
        self.replay = Replay(self.base, self.kept)  # without a half of what did not apply
        self.behind = [u for seq, u in sorted(self._updates.items()) if seq > self.end]
        self.sound = {n: c for n, c in self.sound.items() if n <= self.end}


def _last_seq(content: FileContent) -> int:
    """The last number of the log, by the mark that every commit sets."""
    marked = content.meta.get("update_seq")
    if isinstance(marked, int):
        return marked
    numbers = [u.seq for u in content.updates] + [c.seq for c in content.checkpoints]
    return max(numbers, default=0)
