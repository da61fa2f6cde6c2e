"""The rehearsal of loops over mbarriers: right ones pass however they are written, broken ones are told why."""

import pytest

from tests.checking.rehearsing import broken, loops, unusual
from tests.pages.change import code_of, derive, swap
from tutorlib.checking.hopper import k_tiles_to_try
from tutorlib.checking.rehearsing import coroutines
from tutorlib.checking.rehearsing.call_site import CallSite
from tutorlib.checking.rehearsing.hopper_block import one_function, rehearse_roles, specialized
from tutorlib.checking.rehearsing.unsafe import Unsafe

STAGES = (2, 3, 4)

PRODUCERS = [
    loops.produce,
    unusual.counts_itself,
    unusual.a_while_loop,
    unusual.an_unrolled_prologue,
    unusual.expects_in_two_parts,
    unusual.loads_before_it_expects,
    unusual.counts_in_int32,
    unusual.loops_in_helpers,
    unusual.waits_for_the_last_stages,
    unusual.from_the_last_tile,
]
CONSUMERS = [
    unusual.one_at_a_time,
    unusual.a_peeled_last_step,
    unusual.peeks_ahead,
    unusual.frees_at_the_end_too_early,
    unusual.frees_as_late_as_it_may,
]
MAIN_LOOPS = [loops.main_loop, unusual.barriers_of_the_block, unusual.loads_one_stage_late]


def name(loop) -> str:
    return loop.__name__


def rehearse_all(roles) -> None:
    """Raises Unsafe."""
    for stages in STAGES:
        for k_tiles in k_tiles_to_try(stages):
            rehearse_roles(roles, k_tiles, stages)


@pytest.mark.parametrize("loop", MAIN_LOOPS, ids=name)
def test_a_right_main_loop_is_safe(loop):
    rehearse_all(one_function(loop))


@pytest.mark.parametrize("loop", PRODUCERS, ids=name)
def test_a_right_producer_is_safe(loop):
    rehearse_all(specialized(loop, loops.consume))


@pytest.mark.parametrize("loop", CONSUMERS, ids=name)
def test_a_right_consumer_is_safe(loop):
    rehearse_all(specialized(loops.produce, loop))


def said_of(roles) -> str:
    with pytest.raises(Unsafe) as found:
        rehearse_all(roles)
    return str(found.value)


def assert_in_order(message: str, words: tuple[str, ...]) -> None:
    rest = message
    for part in words:
        assert part in rest, f"{part!r} is not said, or not in its place, in\n{message}"
        rest = rest[rest.index(part) :]


def broken_loops(cases: tuple) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@broken_loops(broken.PRODUCE)
def test_a_broken_producer_is_told_why(case):
    loop = derive(loops.produce, "broken", case.name, *case.changes)
    assert_in_order(said_of(specialized(loop, loops.consume)), case.says)


@broken_loops(broken.CONSUME)
def test_a_broken_consumer_is_told_why(case):
    loop = derive(loops.consume, "broken", case.name, *case.changes)
    assert_in_order(said_of(specialized(loops.produce, loop)), case.says)


@broken_loops(broken.MAIN)
def test_a_broken_main_loop_is_told_why(case):
    loop = derive(loops.main_loop, "broken", case.name, *case.changes)
    assert_in_order(said_of(one_function(loop)), case.says)


def test_a_message_names_the_line_in_the_readers_file():
    case = next(case for case in broken.CONSUME if case.name == "leaves two groups in flight")
    loop = derive(loops.consume, "broken", case.name, *case.changes)
    file = loop.__wrapped__.__code__.co_filename
    with open(file, encoding="utf-8") as lines:
        _, in_its_loop, _ = [number for number, text in enumerate(lines, 1) if broken.FREE in text]
    assert said_of(specialized(loops.produce, loop)).startswith(f"line {in_its_loop}, `{broken.FREE}`: ")


def test_a_state_that_a_helper_advances_in_a_loop_must_come_back():
    right = unusual.loops_in_helpers
    loop = derive(right, "broken", "returns nothing", swap("return state", "pass"), within="load_range")
    loop = derive(loop, "broken", "takes nothing", swap("state = load_range(steps, 0", "load_range(steps, 0"))
    message = said_of(specialized(loop, loops.consume))
    assert (
        "`load_range(steps, 0, first, state)`: load_range advances `state` in a loop and does not return it" in message
    )


def test_a_state_that_comes_back_and_is_not_taken_is_the_old_one():
    case = "state = load_range(steps, 0", "load_range(steps, 0"
    loop = derive(unusual.loops_in_helpers, "broken", "takes nothing", swap(*case))
    assert_in_order(said_of(specialized(loop, loops.consume)), ("K tile 0 in stage 0", "passed at once"))


def test_a_line_of_the_courses_own_loop_has_no_number():
    from tutorlib.kernels.ampere.main_loops import multistage

    code = code_of(multistage)
    assert str(CallSite(code.co_filename, code.co_firstlineno + 1)).startswith("the course's `def multistage")


def test_a_loop_without_orders_does_not_hang_the_rehearsal(monkeypatch):
    monkeypatch.setattr(coroutines, "PATIENCE", 0.05)

    def idles(steps):
        while steps.k_tiles:
            pass

    with pytest.raises(Unsafe, match=r"line \d+, `(while steps.k_tiles:|pass)`: the loop does not end"):
        rehearse_roles(specialized(idles, loops.consume), 1, 2)


def test_what_a_loop_raises_is_raised_as_it_is():
    def unwritten(steps):
        raise NotImplementedError("Exercise 14.1")

    with pytest.raises(NotImplementedError, match=r"Exercise 14\.1"):
        rehearse_roles(specialized(loops.produce, unwritten), 1, 2)


def test_the_dsl_is_as_before_afterwards():
    from cutlass import cute
    from cutlass.pipeline import PipelineState

    before = cute.arch.mbarrier_wait, PipelineState.advance, unusual.mbarrier_wait, unusual.fence
    rehearse_roles(specialized(unusual.a_while_loop, unusual.a_peeled_last_step), 3, 2)
    assert (cute.arch.mbarrier_wait, PipelineState.advance, unusual.mbarrier_wait, unusual.fence) == before
