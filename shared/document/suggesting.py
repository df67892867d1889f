"""Suggestions of a live document: deciding them, keeping them, telling of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shared.access import ANONYMOUS, may
from shared.document.live_document import LiveDocument
from shared.errors import CapabilityDenied, InvalidArgument, SuggestionNotFound
from shared.patch.types import Plan
from shared.protocol import Caller, WhoseSuggestions
from shared.protocol_suggestions import (
    Decided,
    DecideRequest,
    ListSuggestionsRequest,
    ListSuggestionsResult,
)
from shared.stored_annotations import Annotations, SuggestionStatus
from shared.suggestions.accepting import Now, plan_accepting
from shared.suggestions.edits import Suggestion
from shared.suggestions.info import SuggestionInfo, told
from shared.suggestions.register import rows_of
from shared.times import iso


def plan_decision(live: LiveDocument, caller: Caller, request: DecideRequest, now: Now) -> Plan:
    """What deciding does; nothing, when it has been decided so already.

    Raises:
        SuggestionNotFound: There is none such, or it was decided otherwise.
        CapabilityDenied: The caller may not write, and would do more than take back their own.
        StaleBlock, Busy: As `plan_accepting`.
    """
    members = chosen(live, request)
    _check_may(caller, request, members)
    wanted: SuggestionStatus = "accepted" if request.verdict == "accept" else "rejected"
    undecided = [one for one in members if one.open]
    if not undecided:
        if not any(one.status == wanted for one in members):
            raise _decided_otherwise(live, members[0])
        return Plan()
    decides = {one.suggestion_id: wanted for one in undecided}
    plan = plan_accepting(now, undecided) if wanted == "accepted" else Plan()
    return msgspec.structs.replace(plan, decides=decides)


def chosen(live: LiveDocument, request: DecideRequest) -> list[Suggestion]:
    """Those a decision is about. Raises SuggestionNotFound, InvalidArgument."""
    if (request.id is None) == (request.group is None):
        raise InvalidArgument("id: name one suggestion by id, or all of a group by group.")
    if request.id is not None:
        return [live.suggestions.get(request.id)]
    assert request.group is not None
    return live.suggestions.group(request.group)


def _check_may(caller: Caller, request: DecideRequest, members: Sequence[Suggestion]) -> None:
    own = caller.principal != ANONYMOUS and all(
        one.principal == caller.principal for one in members
    )
    if may(caller, "write") or (own and request.verdict == "reject"):
        return
    raise CapabilityDenied(
        "decision: accepting a suggestion, or rejecting somebody else's, needs 'write'; your own "
        "you may reject.",
        needs="write",
    )


def _decided_otherwise(live: LiveDocument, one: Suggestion) -> SuggestionNotFound:
    by = live.names.get(one.decided_by, one.decided_by)
    return SuggestionNotFound(
        f"id: {one.suggestion_id} is open no more: it was {one.status} at {iso(one.decided_at)}.",
        status=one.status,
        decided_by=by,
        decided_at=iso(one.decided_at),
        next_step="It has been decided; suggest or write it anew if you want it otherwise.",
    )


def decided(live: LiveDocument, request: DecideRequest) -> tuple[Decided, ...]:
    """What became of those a decision was about."""
    names = live.names
    return tuple(
        Decided(
            one.suggestion_id,
            one.status,
            names.get(one.principal, one.principal),
            names.get(one.decided_by, one.decided_by) if one.decided_by else msgspec.UNSET,
        )
        for one in chosen(live, request)
    )


def keep(
    live: LiveDocument, plan: Plan, caller: Caller, note: str, now: int
) -> tuple[list[Suggestion], Annotations | None]:
    """What a plan that is carried out does to suggestions: the new ones, and what to store."""
    at, by = max(now, live.at), caller.principal
    changed = live.suggestions.decide(plan.decides, live.log.take, by, at)
    made = live.suggestions.add(plan.suggested, live.log.take, by, at, note)
    rows = [*changed, *made, *live.suggestions.forget()]
    return made, rows_of(rows, by, live.log.head) if rows else None


# --- telling -------------------------------------------------------------------------------------


def listed(
    live: LiveDocument, caller: Caller, request: ListSuggestionsRequest
) -> ListSuggestionsResult:
    """A page of them. Raises SuggestionNotFound for an `after` that is none."""
    status = None if request.status == "all" else request.status
    those = list(live.suggestions.listed(status))
    if request.after is not None:
        last = live.suggestions.get(request.after)
        place = (int(last.group_id[1:]), last.number)
        those = [one for one in those if (int(one.group_id[1:]), one.number) > place]
    page = those[: request.limit]
    more = len(those) > len(page)
    return ListSuggestionsResult(
        _told(live, caller, page), page[-1].suggestion_id if more else msgspec.UNSET
    )


def shown(
    live: LiveDocument, caller: Caller, whose: WhoseSuggestions
) -> tuple[SuggestionInfo, ...] | msgspec.UnsetType:
    """Open ones, as a reader of the document asks for them; absent: there are none."""
    if whose == "none":
        return msgspec.UNSET
    those = live.suggestions.listed("open")
    found = [one for one in those if whose == "all" or one.principal == caller.principal]
    return _told(live, caller, found) or msgspec.UNSET


def changed_since(
    live: LiveDocument, caller: Caller, seq: int, until: int, *, exclude_self: bool
) -> tuple[SuggestionInfo, ...] | msgspec.UnsetType:
    """Those made or decided after `seq`, up to `until`."""
    found = live.suggestions.since(seq, until)
    if exclude_self:
        found = [one for one in found if one.last_by != caller.principal]
    return _told(live, caller, found) or msgspec.UNSET


def _told(
    live: LiveDocument, caller: Caller, those: Sequence[Suggestion]
) -> tuple[SuggestionInfo, ...]:
    return tuple(told(one, live.names, caller.principal) for one in those)
