"""Exercises of notebook 17: what compiling costs, what is kept, structs, and PTX of one's own."""

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
from tutorlib.exercises.n17_compile_once.judge.caches import KEEPING
from tutorlib.exercises.n17_compile_once.judge.for_torch import TRIALS, compiled_once, timed_launches
from tutorlib.exercises.n17_compile_once.judge.graphs import GRAPHS, timed_replays
from tutorlib.exercises.n17_compile_once.judge.integers import OnIntegers
from tutorlib.exercises.n17_compile_once.judge.launch_exercise import LaunchExercise
from tutorlib.exercises.n17_compile_once.judge.saved_kernels import SAVING
from tutorlib.exercises.n17_compile_once.keys import KEYED
from tutorlib.kernels.kernel_cache import CompiledKernels
from tutorlib.machine.features import MMA_SYNC
from tutorlib.models.compiling import compilations_of, per_call, struct_layout
from tutorlib.problems.problem import Operand

if TYPE_CHECKING:
    from torch import Tensor


def bits_of_most(a: "Tensor", b: "Tensor", c: "Tensor") -> "Tensor":
    """Each bit as two or three of a, b and c have it."""
    return (a & b) | (a & c) | (b & c)


MAJORITY = OnIntegers(
    name="majority",
    dims="N",
    inputs=tuple(Operand(name, "N", "int32") for name in "abc"),
    output=Operand("y", "N", "int32"),
    reference=bits_of_most,
    bound=None,
    baseline=lambda y, *tensors: y.copy_(bits_of_most(*tensors)),
    baseline_name="torch",
)
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
        cases=KEYED,
        library={"cache_key": InModule(COURSE, "cache_key")},
    ),
    ValueExercise(
        id="17.4",
        title="CompiledKernels",
        points=3,
        cases=KEEPING,
        library={"CompiledKernels": CompiledKernels.__init__},
    ),
    LaunchExercise(
        id="17.5",
        title="for_torch",
        points=5,
        needs=MMA_SYNC,
        cases=tuple(map(compiled_once, TRIALS)),
        timed=timed_launches,
        tiers=(0.25, 1.0),
        library={"for_torch": InModule(COURSE, "for_torch")},
    ),
    ValueExercise(
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
    CuteExercise(
        id="17.8",
        title="majority, by lop3",
        points=3,
        problem=MAJORITY,
        shapes=((1,), (1000,), (4096,)),
        dynamic=True,
        requires=("lop3",),  # "=f" for the result passes: in PTX a .b32 instruction writes any register of 32 bits
        counted=(1000,),
        limits=WorkLimits(at_most=(("lop3|and.b32|or.b32|xor.b32", 64),)),  # of 32 warps; the index takes an or.b32
        library={"cute.arch.lop3": InModule("cutlass.cute.arch", "lop3")},
    ),
    LaunchExercise(
        id="17.9",
        title="graphed",
        points=4,
        needs=MMA_SYNC,
        cases=GRAPHS,
        timed=timed_replays,
        tiers=(4.0,),
    ),
)
