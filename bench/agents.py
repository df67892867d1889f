"""P7, P8 and P11: an agent at work in documents of 1,000, 10,000 and 500 blocks, over MCP."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Final

from bench.agent import Agent
from bench.results import Row, alone, compared
from bench.servers import Server, docactor, noop_mcp
from bench.typist import Typist

PATCH_BAR_MS: Final = 15.0  # above the no-op
READ_BAR_MS: Final = 30.0
FOLLOW_BAR: Final = 0.02  # of what reading again costs
EDITS: Final = 100
BYTES_PER_TOKEN: Final = 4
WARMUP: Final = 5
WHOLE: Final = 1_000_000  # characters
CHANGE_DEADLINE_S: Final = 10.0
_SENTENCE: Final = "Section {s}, paragraph {n}: the harbour master wrote every ship into a ledger."


def rows(folder: Path, *, calls: int) -> list[Row]:
    """`calls` of each kind of P7, half as many of P8; P11 counts bytes and needs no more."""
    with docactor(folder) as server, noop_mcp(folder) as noop:
        return [
            *_patching(server, noop, calls),
            *_reading_large(server, max(1, calls // 2)),
            *_following(server),
        ]


def document(blocks: int) -> str:
    """Sections of a heading and nine paragraphs."""
    return "\n\n".join(
        f"## Section {n // 10}" if n % 10 == 0 else _SENTENCE.format(s=n // 10, n=n % 10)
        for n in range(blocks)
    )


def _patching(server: Server, noop: str, calls: int) -> list[Row]:
    """One sentence changed and committed: by its section, the whole document, and its words."""
    doc = server.create(document(1_000))
    taken: dict[str, list[float]] = {"noop": [], "section": [], "whole": [], "words": []}
    with Agent(noop) as idler, Agent(server.mcp, server.token) as agent:
        outline = agent.call("read_document", doc_id=doc, outline=True)[1]["outline"]
        for n in range(WARMUP + calls):
            taken["noop"].append(idler.call("noop", doc_id=doc, cursor=n)[0])
            section = outline[n % len(outline)]["section_id"]
            taken["section"].append(_patch(agent, doc, n, section_id=section))
            taken["whole"].append(_patch(agent, doc, n))
            words = (f"Section {n % 100}, paragraph 5:", f"Section {n % 100}, {n}th paragraph 5:")
            edit = {"old_text": words[0], "new_text": words[1]}
            taken["words"].append(agent.call("replace_text", doc_id=doc, edits=[edit])[0])
            agent.call(
                "replace_text", doc_id=doc, edits=[{"old_text": words[1], "new_text": words[0]}]
            )
    p50 = {kind: statistics.median(times[WARMUP:]) for kind, times in taken.items()}
    above = {kind: time - p50["noop"] for kind, time in p50.items()}
    return [
        alone("P7", "patch_section_above_noop_p50_ms", above["section"], PATCH_BAR_MS),
        alone("P7", "patch_whole_above_noop_p50_ms", above["whole"], PATCH_BAR_MS),
        alone("P7", "replace_text_above_noop_p50_ms", above["words"], PATCH_BAR_MS),
    ]


def _patch(agent: Agent, doc: str, number: int, **scope: str) -> float:
    """Reads, changes one sentence, and times sending it back."""
    read = agent.call("read_document", doc_id=doc, max_chars=WHOLE, format="markdown", **scope)[1]
    blocks = read["markdown"].split("\n\n")
    at = len(blocks) // 2 + 1
    blocks[at] = f"{blocks[at].partition('ledger')[0]}ledger of {number} pages."
    sent = {"markdown": "\n\n".join(blocks), "base": read["cursor"], **scope}
    taken, answer = agent.call("patch", doc_id=doc, **sent)
    if answer["replaced"] != 1:
        msg = f"one sentence was changed, {answer['replaced']} blocks were replaced"
        raise RuntimeError(msg)
    return taken


def _reading_large(server: Server, calls: int) -> list[Row]:
    """The first 40,000 characters of 10,000 blocks, an edit before each time."""
    doc = server.create(document(10_000))
    taken = []
    with Agent(server.mcp, server.token) as agent, Typist(server, doc) as typist:
        cursor = agent.call("read_document", doc_id=doc)[1]["cursor"]
        for n in range(WARMUP + calls):
            typist.type(10 * n + 1, f" {n}")
            answer = agent.call("read_changes", doc_id=doc, cursor=cursor, wait_s=10, settle_s=0)
            cursor = answer[1]["cursor"]
            taken.append(agent.call("read_document", doc_id=doc)[0])
    p50 = statistics.median(taken[WARMUP:])
    return [alone("P8", "read_document_after_one_edit_p50_ms", p50, READ_BAR_MS)]


def _following(server: Server) -> list[Row]:
    """100 edits by somebody else: what an agent is sent when it asks for changes each time, and
    when it reads the document again.
    """
    doc = server.create(document(500))
    changes = read = 0
    with (
        Agent(server.mcp, server.token) as agent,
        Typist(server, doc) as typist,
        Typist(server, doc) as watcher,
    ):
        cursor = agent.call("read_document", doc_id=doc, max_chars=WHOLE)[1]["cursor"]
        for n in range(EDITS):
            block = n * 10 % 500 + 1 + n // 50
            typist.type(block, f" {n}")
            watcher.wait_for(block, f" {n}", CHANGE_DEADLINE_S)
            cursor = agent.call("read_changes", doc_id=doc, cursor=cursor)[1]["cursor"]
            changes += agent.answered
            agent.call("read_document", doc_id=doc, max_chars=WHOLE)
            read += agent.answered
    tokens = (changes / BYTES_PER_TOKEN, read / BYTES_PER_TOKEN)
    return [compared("P11", "tokens_of_100_edits_beside_reading_again", *tokens, FOLLOW_BAR)]
