"""The suggestions of one document in memory, by what they are asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from shared.errors import SuggestionNotFound, TooLarge
from shared.limits import MAX_DECIDED_TEXTS, MAX_OPEN_SUGGESTION_CHARS, MAX_OPEN_SUGGESTIONS
from shared.stored_annotations import Annotations, StoredSuggestion, SuggestionStatus
from shared.suggestions.edits import Edit, Suggestion


class Suggestions:
    """All of them, in the order of their last change. Made anew from what is stored."""

    def __init__(self, stored: Iterable[StoredSuggestion] = ()) -> None:
        loaded = (Suggestion.load(row) for row in stored)
        self._all: OrderedDict[str, Suggestion] = OrderedDict(
            (one.suggestion_id, one) for one in sorted(loaded, key=lambda one: one.change_seq)
        )
        self._open = {one.suggestion_id: one for one in self._all.values() if one.open}
        self._decided = dict.fromkeys(
            one.suggestion_id
            for one in self._all.values()
            if not one.open and not one.edit.forgotten
        )

    # --- reading ---------------------------------------------------------------------------------

    def get(self, suggestion_id: str) -> Suggestion:
        """Raises SuggestionNotFound."""
        found = self._all.get(suggestion_id)
        if found is None:
            raise SuggestionNotFound(
                f"id: no suggestion {suggestion_id[:64]!r} in this document.", field="id"
            )
        return found

    def group(self, group_id: str) -> list[Suggestion]:
        """Those made in one call, in its order. Raises SuggestionNotFound."""
        found = [one for one in self._all.values() if one.group_id == group_id]
        if not found:
            raise SuggestionNotFound(
                f"group: no group {group_id[:64]!r} in this document.", field="group"
            )
        return sorted(found, key=lambda one: one.number)

    def listed(self, status: SuggestionStatus | None) -> Iterator[Suggestion]:
        """Those of a status, None: of any; as they were made."""
        of = self._open if status == "open" else self._all
        those = (one for one in of.values() if status is None or one.status == status)
        return iter(sorted(those, key=_made))

    def since(self, seq: int, until: int) -> list[Suggestion]:
        """Those last changed after `seq`, up to `until`: in the order of that."""
        found: list[Suggestion] = []
        for one in reversed(self._all.values()):
            if one.change_seq <= seq:
                break
            if one.change_seq <= until:
                found.append(one)
        return found[::-1]

    # --- changing --------------------------------------------------------------------------------

    def check_room(self, edits: Sequence[Edit], field: str = "edits") -> None:
        """Raises TooLarge: so many may not be open at once."""
        many = len(self._open) + len(edits)
        if edits and many > MAX_OPEN_SUGGESTIONS:
            raise TooLarge(
                f"{field}: the document would have {many} open suggestions, at most "
                f"{MAX_OPEN_SUGGESTIONS}.",
                limit=MAX_OPEN_SUGGESTIONS,
                next_step="Decide open suggestions with decide_suggestion, then suggest again.",
            )
        chars = sum(one.edit.chars for one in self._open.values())
        chars += sum(edit.chars for edit in edits)
        if edits and chars > MAX_OPEN_SUGGESTION_CHARS:
            raise TooLarge(
                f"{field}: open suggestions would hold {chars:,} characters, at most "
                f"{MAX_OPEN_SUGGESTION_CHARS:,}.",
                limit=MAX_OPEN_SUGGESTION_CHARS,
                next_step="Suggest smaller edits, or decide open ones with decide_suggestion.",
            )

    def add(
        self, edits: Sequence[Edit], take: Callable[[], int], principal: str, at: int, note: str
    ) -> list[Suggestion]:
        """New ones, open, of one group. `take` gives numbers of the change feed."""
        made: list[Suggestion] = []
        group = ""
        for number, edit in enumerate(edits):
            seq = take()
            group = group or f"g{seq}"
            made.append(
                Suggestion(f"s{seq}", group, seq, principal, at, "open", edit, number, note)
            )
        self._put(made)
        return made

    def decide(
        self, decisions: Mapping[str, SuggestionStatus], take: Callable[[], int], by: str, at: int
    ) -> list[Suggestion]:
        """Open ones that are so no longer."""
        done = [
            msgspec.structs.replace(
                self._all[suggestion_id],
                status=status,
                change_seq=take(),
                decided_by=by,
                decided_at=at,
            )
            for suggestion_id, status in decisions.items()
        ]
        self._put(done)
        return done

    def forget(self) -> list[Suggestion]:
        """Takes the texts from those decided longest ago, so that what is kept is bounded.

        They stay, as what they have become: who follows the document may still hold them open.
        """
        over = list(self._decided)[: max(0, len(self._decided) - MAX_DECIDED_TEXTS)]
        bare = [self._all[one].forgotten() for one in over]
        for one in bare:
            self._all[one.suggestion_id] = one
            del self._decided[one.suggestion_id]
        return bare

    def _put(self, changed: Sequence[Suggestion]) -> None:
        for one in changed:
            self._all[one.suggestion_id] = one
            self._all.move_to_end(one.suggestion_id)
            if one.open:
                self._open[one.suggestion_id] = one
            else:
                self._open.pop(one.suggestion_id, None)
                self._decided[one.suggestion_id] = None


def rows_of(changed: Sequence[Suggestion], by: str, head: int) -> Annotations:
    """What is to be stored of a change."""
    return Annotations(
        suggestions={one.suggestion_id: one.stored() for one in changed},
        head=head,
        authors=frozenset({by}),
    )


def _made(one: Suggestion) -> tuple[int, int]:
    return int(one.group_id[1:]), one.number
