"""`@name` in what people write: whom it means.

A name is looked up among those the document knows, the longest that fits; it ends where a word
does. Principals decide, not names: `@` and a principal's id means that one alone, a name that
several principals have means each of them. Nobody is missed because somebody else took their name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shared.slugs import single_line


class Handles:
    """The names of a document.

    Args:
        names: What each principal is called; one may have several names.
    """

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        self._by_name: dict[str, set[str]] = {}
        ids = set()
        for principal, name in names:
            ids.add(principal)
            folded = single_line(name).casefold()
            if folded:
                self._by_name.setdefault(folded, set()).add(principal)
        for principal in ids:
            self._by_name[principal.casefold()] = {
                one for one in ids if one.casefold() == principal.casefold()
            }
        self._lengths = sorted({len(name) for name in self._by_name}, reverse=True)

    def mentioned(self, text: str) -> frozenset[str]:
        """The principals that a text mentions."""
        found: set[str] = set()
        folded = text.casefold()
        at = folded.find("@")
        while at >= 0:
            if at == 0 or not _in_word(folded[at - 1]):
                found |= self._at(folded, at + 1)
            at = folded.find("@", at + 1)
        return frozenset(found)

    def _at(self, folded: str, start: int) -> set[str]:
        for length in self._lengths:
            end = start + length
            if end > len(folded) or (end < len(folded) and _in_word(folded[end])):
                continue
            principals = self._by_name.get(folded[start:end])
            if principals:
                return principals
        return set()


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def handles(*sources: Mapping[str, str]) -> Handles:
    """Of principals and their names, from several places."""
    return Handles(pair for source in sources for pair in source.items())
