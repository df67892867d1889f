"""A copy of a document kept by the mirror rule alone, and what it is compared with."""

from __future__ import annotations

from typing import Any, Final

from bench.agent import Agent

WHOLE: Final = 1_000_000  # characters: never cut


def block_id(anchor: str) -> str:
    """The part of an anchor that stays when the block's text changes."""
    return anchor.partition("-")[0]


def read(agent: Agent, doc: str) -> tuple[dict[str, str], int]:
    """The document's blocks in order, by id, and the cursor of that instant."""
    answer = agent.call("read_document", doc_id=doc, format="blocks", max_chars=WHOLE)[1]
    blocks = {block_id(block["anchor"]): block["text"] for block in answer["blocks"]}
    return blocks, answer["cursor"]


class Mirror:
    """Begins as the document is and then follows its changes."""

    def __init__(self, agent: Agent, doc: str) -> None:
        self._agent = agent
        self._doc = doc
        self.blocks, self._cursor = read(agent, doc)

    def follow(self, wait_s: float = 0) -> bool:
        """Takes in one answer; whether it brought anything.

        Raises:
            RuntimeError: the feed lost the cursor, which the soak's length does not excuse.
        """
        answer = self._agent.call(
            "read_changes",
            doc_id=self._doc,
            cursor=self._cursor,
            wait_s=wait_s,
            settle_s=0,
            max_chars=WHOLE,
        )[1]
        if answer["truncated"]:
            msg = f"the feed of {self._doc} lost its cursor: {answer.get('reason')}"
            raise RuntimeError(msg)
        self._apply(answer)
        self._cursor = answer["cursor"]
        return bool(answer["blocks"] or answer["removed"])

    def _apply(self, answer: dict[str, Any]) -> None:
        texts = dict(self.blocks)
        texts.update({block_id(block["anchor"]): block["text"] for block in answer["blocks"]})
        moved = {block_id(block["anchor"]) for block in answer["blocks"]}
        order = [known for known in self.blocks if known not in moved | set(answer["removed"])]
        for block in answer["blocks"]:
            after = block["after"]
            order.insert(0 if after is None else order.index(after) + 1, block_id(block["anchor"]))
        self.blocks = {known: texts[known] for known in order}

    def differs(self) -> bool:
        """Whether the document is anything else than this copy at one and the same instant."""
        while True:
            while self.follow():
                pass
            present = read(self._agent, self._doc)[0]
            if not self.follow():  # nothing came in between: both are of one instant
                return list(self.blocks.items()) != list(present.items())
