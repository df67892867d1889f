"""A copy of a document kept by the mirror rule alone, over MCP, and compared with the document."""

from __future__ import annotations

from typing import Final

import msgspec

from bench.agent import Agent
from shared.feed.mirror import Mirror
from shared.limits import MAX_READ_CHARS
from shared.protocol import ReadChangesResult, ReadDocumentResult

WHOLE: Final = MAX_READ_CHARS  # characters: the soak's documents are never cut


def read(agent: Agent, doc: str) -> Mirror:
    """The document at one instant."""
    answer = agent.call("read_document", doc_id=doc, format="blocks", max_chars=WHOLE)[1]
    return Mirror(msgspec.convert(answer, ReadDocumentResult))


class Follower:
    """Begins as the document is and then takes in its changes."""

    def __init__(self, agent: Agent, doc: str) -> None:
        self._agent = agent
        self._doc = doc
        self._mirror = read(agent, doc)

    def follow(self) -> bool:
        """Takes in one answer; whether it brought anything.

        Raises:
            ValueError: the feed lost the cursor, which the soak's length does not excuse.
        """
        answer = self._agent.call(
            "read_changes", doc_id=self._doc, cursor=self._mirror.cursor, max_chars=WHOLE
        )[1]
        changes = msgspec.convert(answer, ReadChangesResult)
        self._mirror.apply(changes)
        return bool(changes.blocks or changes.removed)

    def differs(self) -> bool:
        """Whether the document is anything else than this copy at one and the same instant."""
        while True:
            while self.follow():
                pass
            present = read(self._agent, self._doc)
            if not self.follow():  # nothing came in between: both are of one instant
                mine = [(known, self._mirror.texts[known]) for known in self._mirror.order]
                return mine != [(known, present.texts[known]) for known in present.order]
