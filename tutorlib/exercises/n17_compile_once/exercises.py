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
from tutorlib.exercises.n17_compile_once.remedies import COMPILE_ONCE_REMEDIES
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
        hints=(
            "For each way two sums: what happens in every call, and what happens once.",
            "every + once / calls. Only the launch is in all four.",
            'A direct call, "traced each time", finds the compiled function by the IR, which it has to trace for that.',
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.1"],
    ),
    ValueExercise(
        id="17.2",
        title="compilations_of",
        points=3,
        cases=tuple(equals(name, calls, compilations_of, COUNT_MISTAKES) for name, calls in COUNTED.items()),
        library={name: InModule("tutorlib.models.compiling", name) for name in ("compilations_of", "compiled_for")},
        hints=(
            "There is one compilation for each type: put everything that stays in the type into a set.",
            "With one dynamic mode the other sizes stay, and the order of the strides.",
            "(type(factor), factor) tells 2 from 2.0, and 1 from True.",
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.2"],
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
        hints=(
            "A tuple for each tensor: dtype, rank, which mode is contiguous, whether 16-byte accesses are aligned.",
            "For the last, the address is not enough: every row has to begin at a multiple of 16 bytes.",
            "tensor.stride().index(1); all(… % 16 == 0 for … in (tensor.data_ptr(), and the strides that are not 1 in "
            "bytes)).",
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.3"],
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
        hints=(
            "__init__ keeps compile, key and an empty dictionary; __call__ takes *tensors.",
            "if key not in self.kept: self.kept[key] = self.compile(*tensors)",
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.4"],
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
        hints=(
            "Replace tensors with dynamic views, and pass everything else to cute.compile unchanged.",
            "from_dlpack(tensor, enable_tvm_ffi=True).mark_layout_dynamic()",
            'cute.compile(host, *views, options="--enable-tvm-ffi")',
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.5"],
    ),
    TrialsExercise(
        id="17.6",
        title="load_or_compile",
        points=3,
        cases=SAVING,
        library={"load_or_compile": InModule(COURSE, "load_or_compile")},
        hints=(
            "If folder / f'{name}.o' exists, load it. If not, compile, save, load.",
            "cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]",
            "Save under another name in that folder, then os.replace(half, file): it happens at once or not at all.",
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.6"],
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
        hints=(
            "Keep the end of what is laid out so far. A member begins at the end, rounded up to its alignment.",
            "-(-end // align) * align rounds up.",
            "The size is the last end, rounded up to the largest alignment of all.",
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.7"],
    ),
    StructExercise(
        id="17.8",
        title="shared_storage",
        points=3,
        wanted=storage_members,
        numbers=(2, 3, 4),
        hints=(
            "A class in a function may use the function's parameter in its annotations.",
            "full: cute.struct.MemRange[cutlass.Int64, stages]",
            "sA: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 128 * 64 * stages], 1024]",
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.8"],
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
        hints=(
            "The table: write a = 0xF0, b = 0xCC, c = 0xAA and evaluate the function on them.",
            "(0xF0 & 0xCC) | (0xF0 & 0xAA) | (0xCC & 0xAA) = 0xE8",
            '"lop3.b32 $0, $1, $2, $3, 0xE8;" with the constraints "=r,r,r,r".',
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.9"],
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
        hints=(
            "nvvm.redux_sync(value, kind, mask) takes MLIR values: v.ir_value(loc=loc, ip=ip).",
            "kind is nvvm.ReductionKind.ADD; the mask has all 32 bits set: cutlass.Int32(-1).",
            "It returns an MLIR value, too: cutlass.Int32(…) wraps it as a number of the DSL.",
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.10"],
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
        hints=(
            "Four steps: buffers of the graph's own, a first call on them, the capture of a second call, and a "
            "function that copies its x into the buffer and replays.",
            "Ask for the stream each time: during the capture another stream is torch's current one.",
            "CUstream(torch.cuda.current_stream().cuda_stream); new.clone() and torch.empty_like(y) make buffers.",
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.11"],
    ),
    TrialsExercise(
        id="17.12",
        title="BoundedKernels",
        points=4,
        cases=BOUNDED,
        library={},
        hints=(
            "An OrderedDict has the least recently used key first if each call moves its key to the end: move_to_end, "
            "popitem(last=False).",
            "Two locks: one around each lookup, which is short, and one around a compilation.",
            "A thread that has waited for the second lock looks up its key again: another thread may have compiled it.",
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.12"],
    ),
    TrialsExercise(
        id="17.13",
        title="save_for",
        points=2,
        cases=TARGETS,
        library={},
        hints=(
            "One compilation and one file for each target.",
            'options=f"--enable-tvm-ffi --gpu-arch {target}"',
            'compiled.export_to_c(str(folder / f"{name}.{target}.o"), name)',
        ),
        remedies=COMPILE_ONCE_REMEDIES["17.13"],
    ),
)
