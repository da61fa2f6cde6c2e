"""What the rehearsal finds in a few orders is what a search through all of them finds, and nothing else."""

import random

import pytest

from tests.checking.rehearsing import broken, loops, unusual
from tests.checking.rehearsing.exhaustive import Fault, Search
from tests.checking.rehearsing.test_every_order import ROLES, orders
from tests.pages.change import Change, derive
from tutorlib.checking.rehearsing.hopper_block import one_function, rehearse_roles, specialized
from tutorlib.checking.rehearsing.unsafe import Unsafe

SEED, EDITS = 10, 20  # edits of each loop


def assert_judges_agree(roles, *sizes: tuple[int, int]) -> None:
    """At each number of K tiles and stages."""
    for k_tiles, stages in sizes:
        found = said = "safe"
        try:
            Search(roles, k_tiles, stages).explore()
        except Fault as fault:
            found = str(fault)
        try:
            rehearse_roles(roles, k_tiles, stages)
        except Unsafe as hazard:
            said = str(hazard)
        assert (found == "safe") == (said == "safe"), f"{k_tiles} K tiles, {stages} stages: {found} | {said}"


RIGHT = [
    *(one_function(loop) for loop in (loops.main_loop, unusual.loads_one_stage_late)),
    *(
        specialized(loop, loops.consume)
        for loop in (unusual.counts_itself, unusual.expects_in_two_parts, unusual.loads_before_it_expects)
    ),
    *(
        specialized(loops.produce, loop)
        for loop in (unusual.one_at_a_time, unusual.frees_at_the_end_too_early, unusual.frees_as_late_as_it_may)
    ),
]


@pytest.mark.parametrize("roles", RIGHT, ids=lambda roles: f"{roles[0].function.__name__}-{roles[1].function.__name__}")
def test_no_order_of_a_right_loop_is_unsafe(roles):
    for k_tiles, stages in ((1, 2), (4, 2), (4, 3)):
        assert Search(roles, k_tiles, stages).explore() > 1


@pytest.mark.parametrize(
    ("right", "roles", "cases"),
    [
        (*ROLES["produce"], broken.PRODUCE),
        (*ROLES["consume"], broken.CONSUME),
        (*ROLES["main_loop"], broken.MAIN),
    ],
    ids=list(ROLES),
)
def test_the_judges_agree_on_broken_loops(right, roles, cases):
    for case in cases:
        assert_judges_agree(roles(derive(right, "broken", case.name, *case.changes)), (1, 2), (3, 2))


# Edits at random --------------------------------------------------------------------------------------------------


def edit(rng: random.Random, numbers: list[int]) -> Change:
    """One order twice, or two in each other's places, or one somewhere else."""
    kind = rng.choice(("twice", "swapped", "moved"))
    one, other = rng.sample(numbers, 2)

    def change(lines: list[str]) -> list[str]:
        def indented(text: str, like: int) -> str:
            return lines[like][: -len(lines[like].lstrip())] + text.strip()

        edited = list(lines)
        if kind == "swapped":
            edited[other] = indented(lines[one], other)
        if kind != "twice":
            edited[one] = indented(lines[other] if kind == "swapped" else "pass", one)
        if kind != "swapped":
            edited.insert(other, indented(lines[one], other))
        return edited

    return change


@pytest.mark.parametrize("name", list(ROLES))
def test_the_judges_agree_on_edits_at_random(name):
    rng, judged = random.Random(SEED), 0
    right, roles = ROLES[name]
    numbers = [number for _, number, _ in orders(name)]
    for _ in range(EDITS):
        loop = derive(right, "edited", "an edit at random", edit(rng, numbers))
        try:
            assert_judges_agree(roles(loop), (3, 2))
            judged += 1
        except NameError:  # it uses what it sets later
            pass
    assert judged > EDITS / 2
