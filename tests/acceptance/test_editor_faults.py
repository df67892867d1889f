"""What no well-behaved editor sends, what networks do, and what people do to each other.

Known problems of servers of this kind, by the name the test's docstring gives them. Most are also
tested where they can be taken apart, without a server:

    P01  emoji                  unit/test_blocks_text_diff.py
    P02  missing dependencies   unit/test_document_durable.py, unit/test_yjs_update.py
    P03  damaged updates        unit/test_yjs_update.py, unit/wire/test_editor_hub.py
    P04  garbage frames         unit/wire/test_sync_session.py, the file of P08
    P05  oversized frames       the same two; slow ones in unit/wire/test_socket_protocol.py
    P06  clocks of presence     unit/wire/test_awareness.py
    P08  slow and broken peers  integration/wire/test_link.py and test_editor_socket.py
    P20  late integration       unit/test_document_durable.py, unit/test_yjs_update.py

Each test ends with `stands`: the server answers, the document is the same when loaded again and
for a newcomer, its ids are unique, and sending back what was read changes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import psutil
import pytest
from websockets.exceptions import ConnectionClosed

from shared.wire import close_codes
from shared.wire.y_protocol import (
    AwarenessEntry,
    awareness_message,
    encode_awareness,
    step1_message,
    update_message,
)
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import until
from tests.acceptance.server import Server
from tests.acceptance.sockets import Typist, bare, closed, reset

MIB: Final = 2**20
FLAT_BYTES: Final = 64 * MIB  # what memory may grow by while 4 GiB are claimed
HUGE_HEADER: Final = b"\x82\xff" + (300 * MIB).to_bytes(8, "big") + bytes(4)  # of a masked frame


def blocks(server: Server, doc: str) -> list[dict[str, Any]]:
    """Anchor and text of each block."""
    read = server.tool("read_document", doc_id=doc, format="blocks", max_chars=1_000_000)
    found: list[dict[str, Any]] = read["blocks"]
    return found


def stands(server: Server, doc: str, editor: OpenEditor) -> None:
    """What must hold of a document after anything."""
    assert server.read(server.create("another")) == "another\n"
    before, markdown = blocks(server, doc), server.read(doc)
    server.kill_actor(doc)
    assert blocks(server, doc) == before
    assert server.read(doc) == markdown
    ids = [block["anchor"].partition("-")[0] for block in before]
    assert len(set(ids)) == len(ids)
    newcomers = [editor(doc), editor(doc)]
    assert newcomers[0].texts == newcomers[1].texts
    read = server.tool("read_document", doc_id=doc, format="markdown", max_chars=1_000_000)
    if not read["truncated"]:
        assert len(newcomers[0].texts) == len(before)
        same = server.tool("patch", doc_id=doc, markdown=read["markdown"], base=read["cursor"])
        assert [same[key] for key in ("replaced", "inserted", "deleted", "moved")] == [0] * 4


@pytest.mark.parametrize(
    "before, after, at",
    [
        ("A📊B конец", "A📊B! конец", 4),
        ("日本語テスト", "日本語のテスト", 3),
        ("e\u0301te\u0301", "e\u0301te\u0301s", 5),
    ],
)
def test_a_patch_beside_an_emoji_is_one_character_at_its_place(
    server: Server, editor: OpenEditor, before: str, after: str, at: int
) -> None:
    """P01."""
    doc = server.create(before)
    ann = editor(doc)
    ann.run(
        "globalThis.deltas = [];"
        "root.observeDeep((events) => events.forEach((event) => deltas.push(event.delta)))"
    )
    server.tool("read_document", doc_id=doc)
    server.tool("patch", doc_id=doc, markdown=after)
    ann.wait_texts([after])
    (delta,) = ann.run("return deltas")
    assert [part["retain"] for part in delta if "retain" in part] == [at]
    assert "".join(part.get("insert", "") for part in delta) in after
    assert len([part for part in delta if "insert" in part]) == len(delta) - 1
    stands(server, doc, editor)


def test_a_gap_in_what_one_sends_is_asked_for_and_not_shown_before(
    server: Server, editor: OpenEditor
) -> None:
    """P02."""
    doc = server.create("base")
    cursor = server.tool("read_document", doc_id=doc)["cursor"]
    with bare(server, doc) as connection:
        typist = Typist(connection)
        typist.type(" one")
        typist.send(typist.type(" two"))
        typist.answer_step1()
        until("both words", lambda: server.read(doc) == "base one two\n")
    changes = server.tool("read_changes", doc_id=doc, cursor=cursor)
    assert [block["text"] for block in changes["blocks"]] == ["base one two"]
    stands(server, doc, editor)


def test_a_gap_is_still_asked_for_after_the_document_moved(
    server: Server, editor: OpenEditor
) -> None:
    """P02, with a reload between."""
    doc = server.create("base")
    with bare(server, doc) as connection:
        typist = Typist(connection)
        first = typist.type(" one")
        typist.send(typist.type(" two"))
        assert server.read(doc) == "base\n"
        server.kill_actor(doc)
        assert server.read(doc) == "base\n"
        typist.send(first)
        typist.answer_step1()
        typist.answer_step1()
        until("both words", lambda: server.read(doc) == "base one two\n")
    stands(server, doc, editor)


def test_what_waits_for_somebody_elses_words_is_told_when_they_come(
    server: Server, editor: OpenEditor
) -> None:
    """P20."""
    doc = server.create("base")
    cursor = server.tool("read_document", doc_id=doc)["cursor"]
    with bare(server, doc) as first, bare(server, doc) as second:
        ann, ben = Typist(first), Typist(second)
        anns = ann.type(" one")
        ben.doc.apply_update(anns)
        ben.send(ben.type(" two"))
        assert server.read(doc) == "base\n"
        assert server.tool("read_changes", doc_id=doc, cursor=cursor)["blocks"] == []
        ann.send(anns)
        until("both words", lambda: server.read(doc) == "base one two\n")
    changes = server.tool("read_changes", doc_id=doc, cursor=cursor)
    assert [block["text"] for block in changes["blocks"]] == ["base one two"]
    stands(server, doc, editor)


def test_damaged_updates_cost_only_their_sender(server: Server, editor: OpenEditor) -> None:
    """P03. After each the sender shakes hands anew: else the second would not even be read."""
    doc = server.create("Good:")
    ann, ben = editor(doc), editor(doc)
    with bare(server, doc) as connection:
        update = Typist(connection).type("BAD")
    damaged = [update[:end] for end in range(len(update))]
    damaged += [b"\xff" * 20, b"\x01" + b"\xff" * 10]
    for number, data in enumerate(damaged):
        with bare(server, doc) as connection, suppress(ConnectionClosed):
            connection.send(step1_message(b"\x00") + update_message(data))
            connection.send(step1_message(b"\x00") + update_message(data))
        if number % 10 == 0:
            ann.type("x")
    typed = "Good:" + "x" * len(range(0, len(damaged), 10))
    ben.wait_texts([typed])
    assert server.read(doc) == f"{typed}\n"
    assert ann.connections == ben.connections == 1
    stands(server, doc, editor)


def test_garbage_frames_cost_only_their_sender_and_no_memory(
    server: Server, editor: OpenEditor
) -> None:
    """P04."""
    doc = server.create("Good")
    ann, ben = editor(doc), editor(doc)
    before = sum(memory(process) for process in server.gateways())
    for frame, code in (
        (b"", close_codes.MALFORMED),
        (b"\x00", close_codes.MALFORMED),
        (b"\x00\x00", close_codes.MALFORMED),
        (b"\x00\x02", close_codes.MALFORMED),
        (b"\x00\x07\x00", close_codes.MALFORMED),
        (b"\x00\x02\xff\xff\xff\xff\x0f", close_codes.MALFORMED),
        (b"\x01\xff\xff\xff\xff\x0f", close_codes.MALFORMED),
        ("hello", close_codes.NOT_ACCEPTABLE),
        ("", close_codes.NOT_ACCEPTABLE),
    ):
        with bare(server, doc) as connection:
            connection.send(frame)
            assert closed(connection) == code, frame
    with bare(server, doc) as connection:
        typist = Typist(connection)
        for _ in range(1_000):
            connection.ping()
        connection.send(b"\x05\x01")
        connection.send(b"\x63")
        typist.send(typist.type(" all the same"))
        ben.wait_texts(["Good all the same"])
    assert sum(memory(process) for process in server.gateways()) - before < FLAT_BYTES
    ann.type(".")
    ben.wait_texts(["Good all the same."])
    assert ann.connections == ben.connections == 1
    stands(server, doc, editor)


def test_what_can_be_pasted_can_be_opened_and_a_huge_frame_is_refused_by_its_length(
    server: Server, editor: OpenEditor
) -> None:
    """P05."""
    doc = server.create("Top")
    ann = editor(doc)
    ann.run("root.push(Array.from({ length: 6 }, () => paragraph('word '.repeat(2 ** 20 / 5))))")
    until("all of it", lambda: len(server.read(doc)) > 6 * MIB - 100)
    ben = editor(doc)
    assert sum(map(len, ben.texts)) == sum(map(len, ann.texts)) > 6 * MIB - 100
    with bare(server, doc) as connection:
        connection.socket.sendall(HUGE_HEADER)
        assert closed(connection) == close_codes.TOO_BIG
    ann.type("!")
    until("Ben goes on", lambda: ben.texts[0] == "Top!")
    assert ann.connections == ben.connections == 1
    stands(server, doc, editor)


def test_who_reconnects_with_an_old_clock_is_seen_and_no_ghost_comes_back(
    server: Server, editor: OpenEditor
) -> None:
    """P06."""
    doc = server.create("Room")
    ann = editor(doc)

    def says(clock: int, name: str) -> bytes:
        state = f'{{"name":"{name}"}}'.encode()
        return awareness_message(encode_awareness([AwarenessEntry(77, clock, state)]))

    with bare(server, doc) as connection:
        connection.send(says(12, "Kim"))
        until("Kim", lambda: ann.present.get("77") == {"name": "Kim"})
    until("Kim gone", lambda: "77" not in ann.present)
    with bare(server, doc) as connection:
        connection.send(says(12, "Kim"))
        connection.send(says(13, "Kim again"))
        until("Kim again", lambda: ann.present.get("77") == {"name": "Kim again"})
        connection.send(says(11, "ghost"))
        connection.send(says(14, "Kim still"))
        until("Kim still", lambda: ann.present.get("77") == {"name": "Kim still"})
    seen = [event["states"].get("77", {}).get("name") for event in ann.events("awareness")]
    assert "ghost" not in seen
    stands(server, doc, editor)


def test_two_with_one_client_id_harm_themselves_alone(server: Server, editor: OpenEditor) -> None:
    """P07. Nothing can tell the two histories apart.

    Yjs gives a client a new id when it notices; y-websocket then looks for the presence of the new
    one, does not find it, and its process ends. So nobody asks the twins anything.
    """
    doc = server.create("Shared")
    ann, ben = editor(doc), editor(doc)
    twins = [editor(doc, client_id=5), editor(doc, client_id=5)]
    for twin in twins:
        twin.ask("disconnect")
    twins[0].insert("from A")
    twins[1].insert("from B longer")
    for twin in twins:
        twin.ask("connect")
    until("one of them", lambda: len(ann.texts) > 1)
    ann.type("!")
    until("the others", lambda: ann.texts == ben.texts and ben.texts[0] == "Shared!")
    assert ann.connections == ben.connections == 1
    stands(server, doc, editor)


def test_a_peer_that_breaks_and_one_that_does_not_read_cost_nobody_else(
    server: Server, editor: OpenEditor
) -> None:
    """P08."""
    doc = server.create("Room")
    ann, cem = editor(doc), editor(doc)
    with bare(server, doc) as broken, bare(server, doc) as deaf:
        Typist(broken)
        Typist(deaf)
        for number in range(200):
            if number == 100:
                reset(broken)
            ann.insert(f"{number}")
        cem.wait_texts(["Room", *map(str, range(200))])
        newcomer = editor(doc)
        assert newcomer.texts == cem.texts
    assert ann.connections == cem.connections == 1
    stands(server, doc, editor)


def test_items_added_to_a_list_that_was_deleted_are_gone_with_it(
    server: Server, editor: OpenEditor
) -> None:
    """P09."""
    doc = server.create("# Shopping\n\nToday:\n\n- bread\n- salt")
    cursor = server.tool("read_document", doc_id=doc)["cursor"]
    ann, ben = editor(doc), editor(doc)
    ben.ask("disconnect")
    ann.ask("delete", block=2)
    ben.run(
        "const item = () => { const one = new Y.XmlElement('listItem');"
        "one.insert(0, [paragraph('late')]); return one };"
        "root.get(2).push([item(), item()]); root.get(2).setAttribute('late', 'yes')"
    )
    until("the list gone", lambda: server.read(doc) == "# Shopping\n\nToday:\n")
    ben.ask("connect")
    ben.type(" Back.", block=1)
    ann.wait_texts(["Shopping", "Today: Back."])
    ben.wait_texts(["Shopping", "Today: Back."])
    changes = server.tool("read_changes", doc_id=doc, cursor=cursor)
    assert len(changes["removed"]) == 1
    assert [block["text"] for block in changes["blocks"]] == ["Today: Back."]
    stands(server, doc, editor)


def test_a_long_time_offline_meets_what_agents_did_meanwhile(
    server: Server, editor: OpenEditor
) -> None:
    """P10, with 4,000 keystrokes."""
    doc = server.create("\n\n".join(f"Paragraph {n}." for n in range(40)))
    cursor = server.tool("read_document", doc_id=doc, format="blocks")["cursor"]
    ann = editor(doc)
    ann.ask("disconnect")
    ann.run("for (let n = 0; n < 4000; n++) leaf(n % 40).insert(leaf(n % 40).length, 'x')")
    now = [block["text"] for block in blocks(server, doc)]
    revised = [f"{text} Revised." if n < 15 else text for n, text in enumerate(now)]
    revised = [*revised[35:38], *revised[:30], *revised[32:35], *revised[38:]]
    agent = server.create_token("Reviser")
    server.tool("read_document", agent, doc_id=doc)
    done = server.tool("patch", agent, doc_id=doc, markdown="\n\n".join(revised))
    assert (done["replaced"], done["deleted"], done["moved"]) == (15, 2, 3)
    ann.ask("connect")
    until("Ann synced", lambda: ann.events("synced")[-1]["synced"])
    until("her keystrokes", lambda: server.read(doc).count("x") >= 35 * 100)
    texts = {block["anchor"].partition("-")[0]: block["text"] for block in blocks(server, doc)}
    assert len(texts) == 38
    assert sum("Revised." in text for text in texts.values()) == 15
    untouched = [text for text in texts.values() if text.endswith("x" * 100)]
    assert len(untouched) >= 20
    changes = server.tool("read_changes", doc_id=doc, cursor=cursor, max_chars=1_000_000)
    told = [block["anchor"].partition("-")[0] for block in changes["blocks"]]
    assert sorted(told) == sorted(set(told))
    assert {
        block["anchor"].partition("-")[0]: block["text"] for block in changes["blocks"]
    }.items() <= texts.items()
    assert {"owner"} <= {name for block in changes["blocks"] for name in block["by"]}
    stands(server, doc, editor)


def test_a_document_inside_the_document_changes_nothing_and_is_kept(
    server: Server, editor: OpenEditor
) -> None:
    """P11. Its own content is another document's: none of that name is opened."""
    doc = server.create("# Parent")
    ann = editor(doc)
    ann.run(
        "const sub = new Y.Doc({ guid: 'sub-1' }); doc.getMap('files').set('a', sub);"
        "sub.getText('t').insert(0, 'inner')"
    )
    ann.type("!")
    until("the parent", lambda: server.read(doc) == "# Parent!\n")
    server.kill_actor(doc)
    ben = editor(doc)
    assert ben.run("return doc.getMap('files').get('a').guid") == "sub-1"
    assert editor("sub-1", synced=False).wait_closed() == close_codes.NOT_FOUND
    stands(server, doc, editor)


def memory(process: psutil.Process) -> int:
    return int(process.memory_info().rss)
