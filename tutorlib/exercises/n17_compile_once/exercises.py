"""Exercises of notebook 17: what compiling costs, what is kept, structs, and PTX of one's own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import ValueExercise, equals
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n17_compile_once.cost_counts import (
    COST_MISTAKES,
    COUNT_MISTAKES,
    COUNTED,
    MEMBERS,
    STRUCT_MISTAKES,
    cost_calls,
    some_members,
)
from tutorlib.exercises.n17_compile_once.judge.bounded import BOUNDED
from tutorlib.exercises.n17_compile_once.judge.cross_compiled import TARGETS
from tutorlib.exercises.n17_compile_once.judge.for_torch import CALLS, launch_costs
from tutorlib.exercises.n17_compile_once.judge.graphs import GRAPHS, graph_costs
from tutorlib.exercises.n17_compile_once.judge.integers import on_integers
from tutorlib.exercises.n17_compile_once.judge.saved_kernels import SAVING
from tutorlib.exercises.n17_compile_once.judge.shared_storage import Member, StructExercise
from tutorlib.exercises.n17_compile_once.judge.trials import TrialsExercise
from tutorlib.exercises.n17_compile_once.keys import (
    after_a_failure,
    alignments,
    alike,
    calls,
    dtypes,
    equal_keys,
    keeping_case,
    keys_case,
    layouts,
    once_for_each,
    others,
    two_of_them,
)
from tutorlib.kernels.kernel_cache import CompiledKernels
from tutorlib.machine.features import MMA_SYNC
from tutorlib.models.compiling import compilations_of, per_call, struct_layout
from tutorlib.problems.problem import Problem

if TYPE_CHECKING:
    from torch import Tensor

# 17.8 shared_storage --------------------------------------------------------------------------------------------

BARRIER = ("Int64", "Uint64")
TILE_ALIGN = 1024  # bytes: 8 rows of 128, over which the swizzle of 128 bytes repeats


def storage_members(stages: int) -> Mapping[str, Member]:
    """Of a GEMM with 128×256×64 tiles in bf16."""
    return {
        "full": Member(stages, BARRIER, 8),
        "empty": Member(stages, BARRIER, 8),
        "sA": Member(128 * 64 * stages, ("BFloat16",), TILE_ALIGN),
        "sB": Member(256 * 64 * stages, ("BFloat16",), TILE_ALIGN),
    }


# 17.9 and 17.10, kernels of integers ----------------------------------------------------------------------------

LANES = 32


def majority() -> Problem:
    """y (N,): each bit as two or three of a, b and c have it."""
    return on_integers("majority", "N", ("a", "b", "c"), lambda a, b, c: (a & b) | (a & c) | (b & c))


def row_totals() -> Problem:
    """totals (M,) of the rows of x (M, 32), modulo 2^32."""

    def reference(x: "Tensor") -> "Tensor":
        import torch

        return x.sum(-1, dtype=torch.int32)

    return on_integers("row_totals", "MN", ("x",), reference, "M")


COURSE = "tutorlib.kernels.kernel_cache"  # where the course has the same functions

EXERCISES = (
    ValueExercise(
        id="17.1",
        title="per_call",
        points=2,
        cases=tuple(
            equals(way, cost_calls(way), per_call, COST_MISTAKES)
            for way in ("nothing kept", "traced each time", "kept", "loaded")
        ),
        library={"per_call": InModule("tutorlib.models.compiling", "per_call")},
    ),
    ValueExercise(
        id="17.2",
        title="compilations_of",
        points=3,
        cases=tuple(equals(name, calls, compilations_of, COUNT_MISTAKES) for name, calls in COUNTED.items()),
        library={name: InModule("tutorlib.models.compiling", name) for name in ("compilations_of", "compiled_for")},
    ),
    ValueExercise(
        id="17.3",
        title="cache_key",
        points=4,
        cases=(
            keys_case("calls that share a compilation, and others", alike, equal=True, unlike=dtypes),
            keys_case("dtypes", dtypes, equal=False),
            keys_case("layouts", layouts, equal=False),
            keys_case("alignment", alignments, equal=False),
            keys_case("constants and architecture", others, equal=False),
        ),
        library={"cache_key": InModule(COURSE, "cache_key")},
    ),
    ValueExercise(
        id="17.4",
        title="CompiledKernels",
        points=3,
        cases=(
            keeping_case("one call", calls),
            keeping_case("many calls", once_for_each),
            keeping_case("any key", equal_keys),
            keeping_case("two of them", two_of_them),
            keeping_case("a compilation that fails", after_a_failure),
        ),
        library={"CompiledKernels": CompiledKernels.__init__},
    ),
    TrialsExercise(
        id="17.5",
        title="for_torch",
        points=5,
        needs=MMA_SYNC,
        cases=CALLS,
        launch_costs=launch_costs,
        tiers=(0.25, 1.0),
        library={"for_torch": InModule(COURSE, "for_torch")},
    ),
    TrialsExercise(
        id="17.6",
        title="load_or_compile",
        points=3,
        cases=SAVING,
        library={"load_or_compile": InModule(COURSE, "load_or_compile")},
    ),
    ValueExercise(
        id="17.7",
        title="struct_layout",
        points=2,
        cases=tuple(
            equals(name, beside([(members,) for members in lists], some_members), struct_layout, STRUCT_MISTAKES)
            for name, lists in MEMBERS.items()
        ),
        library={"struct_layout": InModule("tutorlib.models.compiling", "struct_layout")},
    ),
    StructExercise(
        id="17.8",
        title="shared_storage",
        points=3,
        wanted=storage_members,
        numbers=(2, 3, 4),
    ),
    CuteExercise(
        id="17.9",
        title="majority, by lop3",
        points=3,
        problem=majority(),
        shapes=((1,), (1000,), (4096,)),
        dynamic=True,
        requires=("lop3",),  # "=f" for the result passes: in PTX a .b32 instruction writes any register of 32 bits
        counted=(1000,),
        limits=WorkLimits(at_most=(("lop3|and.b32|or.b32|xor.b32", 64),)),  # of 32 warps; the index takes an or.b32
        library={"cute.arch.lop3": InModule("cutlass.cute.arch", "lop3")},
    ),
    CuteExercise(
        id="17.10",
        title="row_totals, by redux.sync",
        points=2,
        problem=row_totals(),
        shapes=((1, LANES), (7, LANES), (200, LANES)),
        dynamic=True,
        requires=("redux.sync",),
        counted=(7, LANES),
        limits=WorkLimits(at_most=(("redux.sync", 7),)),
        forbids=("shfl.sync", "ld.shared", "redux.sync as inline PTX"),
        library={"cute.arch.warp_redux_sync": InModule("cutlass.cute.arch", "warp_redux_sync")},
    ),
    TrialsExercise(
        id="17.11",
        title="graphed",
        points=4,
        needs=MMA_SYNC,
        cases=GRAPHS,
        launch_costs=graph_costs,
        tiers=(4.0,),
        library={},
    ),
    TrialsExercise(
        id="17.12",
        title="BoundedKernels",
        points=4,
        cases=BOUNDED,
        library={},
    ),
    TrialsExercise(
        id="17.13",
        title="save_for",
        points=2,
        cases=TARGETS,
        library={},
    ),
)
