"""The mirror holds over long walks in which mostly agents write, two of them under one name.

Plain random numbers choose the steps: Hypothesis, which looks for short examples, seldom has three
conversations far enough apart.
"""

from __future__ import annotations

import random
from typing import Final

import pytest

from tests.amount import amount
from tests.unit.test_mirror import MirrorMachine, Seeded

STEPS: Final = 60
RULES: Final = [
    *["edit"] * 3,
    *["type_offline", "pull", "pull", "what_comes_too_early"],
    *["follow", "page", "go_away", "come_back", "leave_out_own", "restart", "crash"],
    *["follow_as_writer", "follow_as_writer", "begin_again"],
    *["write"] * 8,
]
WRITERS: Final = ["alone", "alone", "twin", "other twin"]
VERBS: Final = ["patch", "patch", "patch", "insert", "replace", "delete", "move", "replace_text"]
# Where a walk once failed: equal blocks that two conversations knew differently, or whose author
# was behind when they went.
FOUND: Final = [330211, 500138, 2377639350]


def walk(seed: int) -> None:
    rng = random.Random(seed)
    machine = MirrorMachine()
    machine.begin()
    for _ in range(STEPS):
        step(machine, rng)
        machine.it_is_known_as_it_is()
    machine.teardown()


def step(machine: MirrorMachine, rng: random.Random) -> None:
    rule, within = rng.choice(RULES), Seeded(rng.randrange(2**32))
    person = rng.choice([0, 1])
    match rule:
        case "edit":
            machine.edit(within, person, rng.randint(1, 3))
        case "type_offline":
            machine.type_offline(within, person)
        case "pull":
            machine.pull(person)
        case "what_comes_too_early":
            machine.what_comes_too_early(within)
        case "page":
            machine.page(rng.choice([1, 40, 200]))
        case "come_back":
            machine.come_back(rng.randrange(3))
        case "follow_as_writer" | "begin_again" | "leave_out_own":
            getattr(machine, rule)(rng.choice(WRITERS))
        case "write":
            machine.write(within, rng.choice(WRITERS), rng.choice(VERBS))
        case _:
            getattr(machine, rule)()


@pytest.mark.parametrize("seed", FOUND)
def test_walks_that_once_failed(seed: int) -> None:
    walk(seed)


def test_new_walks(rng: random.Random) -> None:
    for _ in range(amount(10, 1_000)):
        seed = rng.randrange(2**32)
        print(f"walk {seed}")  # noqa: T201  pytest shows it when the test fails
        walk(seed)
