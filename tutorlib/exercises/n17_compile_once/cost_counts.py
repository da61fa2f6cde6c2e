"""Cases and mistakes of 17.1, 17.2 and 17.7: counting microseconds, compilations and bytes."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tutorlib.checking.drawn import Drawn, beside
from tutorlib.exercises.words import mistakes
from tutorlib.models.compiling import DirectCall, compiled_for, per_call, struct_layout

# 17.1 per_call --------------------------------------------------------------------------------------------------

TIMES = (73_000.0, 241_500.0, 1_000.0, 10.0)  # trace and compile: published for a GEMM on a B100
MOST = (100_000, 500_000, 5_000, 50)
CALLS = (1, 2, 1000)


def cost_calls(way: str) -> Drawn:
    """Calls with the published times; the grader also tries others, whose quotients are exact."""
    known = [(way, calls, *TIMES) for calls in CALLS]
    return beside(known, lambda rng: (way, 2 ** rng.randint(0, 12), *(float(rng.randint(1, n)) for n in MOST)))


COST_MISTAKES = mistakes(
    "17.1",
    all_calls=lambda way, calls, *times: calls * per_call(way, calls, *times),
    compiled_once=lambda way, *rest: per_call("kept" if way == "traced each time" else way, *rest),
    traced=lambda way, *rest: per_call("kept" if way == "loaded" else way, *rest),
    loading_is_free=lambda way, calls, trace, compile, load, launch: per_call(way, calls, trace, compile, 0.0, launch),
    one_launch=lambda way, calls, trace, compile, load, launch: per_call(way, calls, trace, compile, load, 0.0),
)

# 17.2 compilations_of ----------------------------------------------------------------------------------------------


USUAL: dict[str, Sequence[Any]] = {"dtype": ("fp32",), "align": (16,), "marked": ("layout",), "factor": (2,)}


def some_calls(**choices: Sequence[Any]) -> Drawn:
    """Six arguments of `compilations_of`: calls that differ in their sizes and in these choices."""

    def call(rng: Random) -> tuple:
        m, n = rng.choice((8, 12)), rng.choice((16, 32, 48))
        chosen = {name: rng.choice(some) for name, some in (USUAL | choices).items()}
        return tuple(DirectCall(shape=(m, n), stride=rng.choice(((n, 1), (1, m))), **chosen))

    def lists(seed: int) -> list[tuple]:
        rng = Random(seed)
        return [([call(rng) for _ in range(rng.randint(8, 16))],) for _ in range(6)]

    return Drawn(lists, 17)


COUNTED = {
    "static layouts": some_calls(marked=("static",)),
    "mark_layout_dynamic": some_calls(),
    "one dynamic mode": some_calls(marked=(0, 1)),
    "dtypes and alignments": some_calls(dtype=("fp32", "fp16", "bf16"), align=(4, 16)),
    "constants": some_calls(factor=(2, 3, 4, 5)),
    "constants that Python takes for equal": some_calls(factor=(1, 1.0, True, 2, 2.0, -1, -2)),
    "all of them": some_calls(marked=("static", "layout", 0, 1), factor=(1, 1.0, 2)),
}


def counted(key: Callable[[DirectCall], Any]) -> Callable[[list[tuple]], int]:
    """A count of other keys."""
    return lambda calls: len({key(DirectCall(*call)) for call in calls})


def without(field: str, value: Any) -> Callable[[list[tuple]], int]:
    return counted(lambda call: compiled_for(call._replace(**{field: value})))


COUNT_MISTAKES = mistakes(
    "17.2",
    every_call=len,
    element_type_missing=without("dtype", "fp32"),
    alignment_missing=without("align", 16),
    constant_missing=without("factor", 0),
    equal_constants=counted(lambda call: (*compiled_for(call)[:4], call.factor)),  # type: ignore[index]
)

# 17.7 struct_layout ---------------------------------------------------------------------------------------------

SCALARS = [((1, 1), (8, 8), (2, 2), (4, 4)), ((4, 4), (1, 1), (1, 1), (8, 8)), ((8, 8), (4, 4))]
ARRAYS = [((6, 2), (16, 128), (4, 4)), ((24, 8), (24, 8), (32_768, 1024), (16_384, 1024))]
LAST = [((1024, 1024), (8, 8)), ((8, 8), (1, 1)), ((5, 1),), ((12, 4), (0, 8))]


def some_members(rng: Random) -> tuple:
    """An argument of `struct_layout`."""
    members = ((rng.randint(1, 99), 2 ** rng.randint(0, 8)) for _ in range(rng.randint(2, 6)))
    return (tuple(members),)


MEMBERS = {"scalars": SCALARS, "arrays and alignments": ARRAYS, "the end": LAST}


def packed(members: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], int]:
    offsets, end = struct_layout([(size, 1) for size, _ in members])
    strictest = max(align for _, align in members)
    return offsets, -(-end // strictest) * strictest


def open_ended(members: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], int]:
    offsets, _ = struct_layout(members)
    return offsets, offsets[-1] + members[-1][0]


STRUCT_MISTAKES = mistakes(
    "17.7",
    packed=packed,
    size_not_rounded=open_ended,
)
