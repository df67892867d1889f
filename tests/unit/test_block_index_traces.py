from __future__ import annotations

from base64 import b64decode
from itertools import chain

import pytest
from pycrdt import merge_updates

from tests.unit.editor_traces import (
    EDITORS,
    STEP_MS,
    WALKS,
    Names,
    Server,
    load,
    rows_of,
    servers,
    wrong_rows,
)


@pytest.mark.parametrize("editor", EDITORS)
def test_each_act_of_an_editor_leaves_the_ids_with_the_words_and_tells_nothing_else(
    editor: str,
) -> None:
    wrong = []
    for title, server, steps in servers(editor):
        names = Names(server.index.ids)
        for step in steps:
            server.now += STEP_MS
            had = set(server.index.ids)
            drafts = list(chain.from_iterable(one.rows for one in server.feed(step["updates"])))
            found = names.match(step["expect"]["order"], server.index.ids)
            if not any("?" in one or "|" in one for one in step["expect"]["order"]):
                found += wrong_rows(step["expect"], names, rows_of(drafts), had)
            wrong += [f"{title}, {step['do']}: {what}" for what in found]
    assert wrong == []


@pytest.mark.parametrize("editor", EDITORS)
def test_a_client_back_from_offline_ends_with_the_same_ids(editor: str) -> None:
    wrong = []
    for title, server, steps in servers(editor):
        names = Names(server.index.ids)
        updates = [b64decode(update) for step in steps for update in step["updates"]]
        server.doc.apply_update(merge_updates(*updates))
        server.index.settle(STEP_MS)
        order = list(steps[-1]["expect"]["order"])
        if title.startswith("Enter in the middle ("):  # both halves were typed in: either keeps it
            new = order.index("new:1")
            order[new - 1] = order[new] = f"{order[new - 1]}|{order[new]}"
        wrong += [f"{title}: {what}" for what in names.match(order, server.index.ids)]
    assert wrong == []


@pytest.mark.parametrize("walk", WALKS)
def test_blocks_that_plainly_hold_the_same_words_keep_their_ids_over_a_long_session(
    walk: str,
) -> None:
    data = load(walk)
    server = Server(data["state"], data["root"])
    for number, step in enumerate(data["steps"]):
        before = server.index.ids
        server.now += STEP_MS
        for _ in server.feed(step["updates"]):
            pass
        now = server.index.ids
        assert len(set(now)) == len(now)
        for was, place in step["same"]:
            assert before[was] == now[place], f"step {number}: {step['act']}"
    assert len(data["texts at the end"]) == len(server.fragment.children) == len(server.index)
