"""What a gateway remembers of where documents are."""

from __future__ import annotations

from gateway.places import Places
from shared.protocol import Route, RouteKey


def route(doc_id: str = "a" * 12, epoch: int = 1) -> Route:
    return Route(RouteKey(doc_id, epoch, "s"), f"actor-{epoch}", "n1", "unix:/x", "tcp:h:1")


def test_found_by_whatever_it_was_asked_for() -> None:
    places = Places()
    place = places.add("slug", route())
    assert places.get("slug") is places.get("a" * 12) is place


def test_broken_place_is_forgotten_and_wakes_its_calls() -> None:
    places = Places()
    place = places.add("slug", route())
    places.broken(place)
    assert places.get("slug") is None
    assert places.dead("slug") == places.dead("a" * 12) == place.key
    assert place.lost.is_set()


def test_old_place_does_not_take_the_new_one_with_it() -> None:
    places = Places()
    old = places.add("slug", route())
    places.broken(old)
    new = places.add("slug", route(epoch=2))
    places.broken(old)
    assert places.get("slug") is new
    assert places.dead("slug") is None


def test_same_route_is_the_same_place() -> None:
    places = Places()
    assert places.add("slug", route()) is places.add("a" * 12, route())


def test_number_of_places_is_bounded() -> None:
    places = Places(limit=3)
    for n in range(10):
        places.add(f"slug-{n}", route(f"{n:012d}"))
    assert sum(places.get(f"{n:012d}") is not None for n in range(10)) <= 3
    assert places.get("slug-9") is not None
