"""Random histories of a list of blocks: what compaction and paging must not change."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from shared.feed.block_changes import ChangeLog, Draft, Row
from shared.feed.change_rows import Step, change_rows
from shared.feed.cursor import Cursor
from tests.unit.feed_mirror import Mirror

SEEDS = st.integers(0, 2**32 - 1)


class Uncompacted(ChangeLog):
    def _superseded_by(self, row: Row) -> Row | None:
        return None


class History:
    """Blocks that come, go, move and change, with rows as an index would give them."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.order: list[str] = []
        self.version: dict[str, int] = {}
        self.known: list[str] = []
        self.log, self.full = ChangeLog(), Uncompacted()
        self.at = 0

    def text(self, block_id: str) -> str:
        return f"{block_id}:{self.version[block_id]}"

    def transaction(self) -> None:
        before = list(self.order)
        texts = {block_id: self.text(block_id) for block_id in before}
        for _ in range(self.rng.choice((1, 1, 2, 4))):
            self._one()
        # every element is taken as touched: removed at its old place, new at its new one
        steps = [Step(block_id, None, 0) for block_id in before]
        steps += [Step(None, block_id, 0) for block_id in self.order]
        now = {block_id: self.text(block_id) for block_id in self.order}
        self.at += 1
        self._append(change_rows(steps, texts, now))

    def _append(self, drafts: tuple[Draft, ...]) -> None:
        principal = self.rng.choice(("ann", "bob"))
        for log in (self.log, self.full):
            log.append(drafts, principal, self.at, len(self.order))

    def _one(self) -> None:
        act = self.rng.random()
        place = self.rng.randrange(len(self.order) + 1)
        if act < 0.3 or not self.order:
            gone = [block_id for block_id in self.known if block_id not in self.order]
            fresh = f"b{len(self.known)}"
            block_id = self.rng.choice([*gone, fresh]) if self.rng.random() < 0.5 else fresh
            if block_id == fresh:
                self.known.append(fresh)
                self.version[fresh] = 0
            self.order.insert(place, block_id)
            return
        block_id = self.rng.choice(self.order)
        if act < 0.5:
            self.order.remove(block_id)
        elif act < 0.7:
            self.order.remove(block_id)
            self.order.insert(self.rng.randrange(len(self.order) + 1), block_id)
        else:
            self.version[block_id] += 1


@given(SEEDS)
def test_compaction_never_changes_what_a_cursor_is_told(seed: int) -> None:
    history = History(seed)
    cursors = {0}
    for _ in range(20):
        history.transaction()
        cursors.add(history.log.head)
    assert len(history.log) <= len(history.full)
    for seq in cursors:
        for cut in (False, True):
            for exclude in (None, "ann"):
                pages = [
                    log.page(Cursor(seq, cut), history.order, lambda _: 1, 10**6, exclude)
                    for log in (history.log, history.full)
                ]
                assert pages[0] == pages[1]


@given(SEEDS)
def test_a_mirror_holds_over_pages_of_any_size_with_edits_in_between(seed: int) -> None:
    history = History(seed)
    mirrors = [Mirror([], history.text, 0)]
    for _ in range(25):
        history.transaction()
        if history.rng.random() < 0.3:
            mirrors.append(Mirror(history.order, history.text, history.log.head))
        for mirror in mirrors:
            if history.rng.random() < 0.5:
                chars = history.rng.choice((1, 6, 12, 10**6))
                page = mirror.follow(history.log, history.order, history.text, chars)
                if not page.more:
                    same(mirror, history)
    for mirror in mirrors:
        while mirror.follow(history.log, history.order, history.text, 1).more:
            pass
        same(mirror, history)


@given(SEEDS)
def test_a_log_loaded_from_its_rows_answers_the_same(seed: int) -> None:
    history = History(seed)
    for _ in range(15):
        history.transaction()
    rows = sorted(history.log.rows_since(0), key=lambda row: row.seq)
    loaded = ChangeLog(rows, history.log.head, history.log.floor)
    for seq in range(history.log.head + 1):
        pages = [
            log.page(Cursor(seq), history.order, lambda _: 5, 20) for log in (history.log, loaded)
        ]
        assert pages[0] == pages[1]


def same(mirror: Mirror, history: History) -> None:
    assert mirror.order == history.order
    assert mirror.texts == {block_id: history.text(block_id) for block_id in history.order}
