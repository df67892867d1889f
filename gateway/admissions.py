"""What callers may do with documents, as the Directory says, with a memory.

A gateway asks once for each caller and document and remembers the answer for a while; the
Directory's notices make it forget, so that a role taken back counts at once, and while it hears
nothing it hardly remembers anything. That there is no document for somebody is never remembered:
one that is private and one that never was take the same way.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Final

import msgspec

from gateway.ports import Admission
from shared.access import ANONYMOUS, with_role
from shared.budget import Allowance
from shared.directory_protocol import Admitted
from shared.errors import DocactorError, DocumentNotFound, Unauthenticated
from shared.limits import MAX_CACHED_ROLES, TOKEN_UNSURE_S
from shared.protocol import Caller, Scope

_VISITS: Final = frozenset[Scope]({"read", "suggest", "write"})
ANYBODY: Final = Caller(ANONYMOUS, "anonymous", None, False, _VISITS)
"""Whoever comes without a token: a document's link says what they may do there."""

Ask = Callable[..., Awaitable[Any]]


def refusal(ref: str, caller: Caller) -> DocactorError:
    """What a caller is told for whom there is no document `ref`."""
    if caller.principal == ANONYMOUS:
        return Unauthenticated("Authorization: a Bearer token is required.")
    return DocumentNotFound.for_document(ref)


class Admissions:
    """One per gateway.

    Args:
        ask: Calls the Directory.
        visitors: Budgets of those whom nobody gave a role by name.
        now: Seconds, monotonic.
    """

    def __init__(
        self, ask: Ask, visitors: Allowance, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask = ask
        self._visitors = visitors
        self._now = now
        self._known: dict[tuple[str, Caller], tuple[Admitted, float]] = {}
        self._keep_s = TOKEN_UNSURE_S
        self._forgotten = 0  # times something was forgotten

    async def of(self, ref: str, caller: Caller) -> Admission:
        """The caller with its roles on a document, and the document's id.

        Raises:
            DocumentNotFound: There is none, or none that the caller may read.
            Unauthenticated: Likewise, for somebody without a token.
        """
        known = self._known.get((ref, caller))
        if known is not None and known[1] > self._now():
            return self._admission(caller, known[0])
        while True:
            forgotten = self._forgotten
            (admitted,) = await self._admit([(ref, caller)])
            if forgotten == self._forgotten:
                break  # else it may have changed after the Directory had answered
        if admitted is None:
            raise refusal(ref, caller)
        if len(self._known) >= MAX_CACHED_ROLES:
            self._known.clear()
        self._known[ref, caller] = admitted, self._now() + self._keep_s
        return self._admission(caller, admitted)

    async def now_of(self, asked: Sequence[tuple[str, Caller]]) -> list[Caller | None]:
        """The callers with the roles they have now, by document id; None: none any more."""
        found = await self._admit(asked)
        return [
            None if admitted is None else self._admission(caller, admitted).caller
            for admitted, (_, caller) in zip(found, asked, strict=True)
        ]

    def forget(self, documents: Collection[str] | None, keep_s: float) -> None:
        """Remembers nothing of these documents, or with None of any; what is new, for so long."""
        self._forgotten += 1
        self._keep_s = keep_s
        if documents is None:
            self._known.clear()
            return
        self._known = {
            key: known for key, known in self._known.items() if known[0].doc_id not in documents
        }

    async def _admit(self, asked: Sequence[tuple[str, Caller]]) -> tuple[Admitted | None, ...]:
        found: tuple[Admitted | None, ...] = await self._ask("admit", tuple(asked))
        return found

    def _admission(self, caller: Caller, admitted: Admitted) -> Admission:
        with_roles = with_role(caller, admitted.role, admitted.link_role)
        if admitted.role is None:
            with_roles = msgspec.structs.replace(
                with_roles, allowance=caller.allowance.at_most(self._visitors)
            )
        return Admission(admitted.doc_id, with_roles)
