"""What a gateway remembers of where documents are. No I/O; everything at once."""

from __future__ import annotations

import asyncio

from shared.limits import MAX_ROUTES
from shared.protocol import Route, RouteKey


class Place:
    """One document's place, until it proves wrong.

    Attributes:
        lost: Set when the actor is known to be gone; calls under way stop waiting.
        link_wanted: A link to it has been asked for.
    """

    def __init__(self, route: Route) -> None:
        self.route = route
        self.lost = asyncio.Event()
        self.link_wanted = False

    @property
    def key(self) -> RouteKey:
        return self.route.key


class Places:
    """Places by id or slug, and which of them broke."""

    def __init__(self, limit: int = MAX_ROUTES) -> None:
        self._limit = limit
        self._ids: dict[str, str] = {}  # slug or id, as asked for -> id
        self._places: dict[str, Place] = {}
        self._dead: dict[str, RouteKey] = {}

    def get(self, ref: str) -> Place | None:
        return self._places.get(self._ids.get(ref, ref))

    def doc_id(self, ref: str) -> str:
        """The id of a document asked for before; else what was given."""
        return self._ids.get(ref, ref)

    def dead(self, ref: str) -> RouteKey | None:
        """The route of this document that broke last, for the Directory to look at."""
        return self._dead.get(self._ids.get(ref, ref))

    def add(self, ref: str, route: Route) -> Place:
        """Remembers what the Directory said; the place there was is returned if it is the same."""
        doc_id = route.key.doc_id
        if len(self._ids) >= self._limit:
            self._ids.clear()
        if len(self._places) >= self._limit:
            self._places.pop(next(iter(self._places)))
        self._ids[ref] = doc_id
        self._dead.pop(doc_id, None)
        place = self._places.get(doc_id)
        if place is None or place.route != route:
            place = self._places[doc_id] = Place(route)
        return place

    def forget(self, place: Place) -> None:
        """It is not there any more; who wants it asks the Directory, by the name they used."""
        doc_id = place.key.doc_id
        if self._places.get(doc_id) is place:
            del self._places[doc_id]

    def broken(self, place: Place) -> None:
        """Its actor is dead or does not answer: the Directory is told so when it is asked."""
        if self._places.get(place.key.doc_id) is place:
            self._dead[place.key.doc_id] = place.key
        self.forget(place)
        place.lost.set()
