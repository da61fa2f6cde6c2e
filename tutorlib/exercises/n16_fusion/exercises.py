"""Exercises of notebook 16: fused epilogues, an operator for torch, and a split over two GPUs."""

from typing import TYPE_CHECKING

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.library_use import InModule
from tutorlib.checking.part import Inside
from tutorlib.checking.values import ValueExercise
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n16_fusion.gated_mlp import GATED_MLPS
from tutorlib.exercises.n16_fusion.interleaving import INTERLEAVING, interleaves
from tutorlib.exercises.n16_fusion.judge import host_functions
from tutorlib.exercises.n16_fusion.judge.fake_tensors import FAKED
from tutorlib.exercises.n16_fusion.judge.gradients import gradients
from tutorlib.exercises.n16_fusion.judge.registered import REGISTERED
from tutorlib.exercises.n16_fusion.judge.shares import SHARES
from tutorlib.exercises.n16_fusion.judge.swapped_models import SWAPPED
from tutorlib.exercises.words import wrong_results
from tutorlib.problems.fused import gelu, linear_add, linear_gelu, linear_swiglu, tile_amax

if TYPE_CHECKING:
    from torch import Tensor

SHAPES = ((65, 104, 40), (130, 72, 96), (64, 64, 64))  # 2×2 tiles with edges everywhere, 3×2, and one that fits
WHOLE = SHAPES[2:]
FITTING = ((64, 128, 32),)  # what is not about edges is simulated without them, in a tenth of the time
GATED = ((65, 128, 40), (64, 64, 64))


def quick_gelu(x: "Tensor") -> "Tensor":
    return x * (1.702 * x).sigmoid()


QUICK = wrong_results("16.1", quick_gelu=quick_gelu)
EXPONENTIAL = "tanh|ex2"  # one for each result is enough for GELU and for silu
OPS, FUSED = "tutorlib.kernels.fused.ops", "tutorlib.kernels.fused.ampere"
LAYER = "tutorlib.kernels.fused.linear"


def course(module: str, *names: str) -> dict[str, InModule]:
    """The course's own functions that solve an exercise."""
    return {f"the course's {name}": InModule(module, name) for name in names}


EXERCISES = (
    CuteExercise(
        id="16.1",
        title="gelu",
        points=2,
        problem=gelu(),
        shapes=((512,), (4 * 777,)),
        part=Inside(build=host_functions.elementwise),
        limits=WorkLimits(at_most=((EXPONENTIAL, 16),), distinct=True),
        mistakes=lambda shape: QUICK,
        library=course(OPS, "gelu"),
    ),
    CuteExercise(
        id="16.2",
        title="every_row",
        points=2,
        problem=linear_gelu(),
        shapes=SHAPES,
        simulated_shapes=(*FITTING, (65, 64, 32)),  # `rows` is not always a tile's
        whole=WHOLE,
        part=Inside(build=host_functions.with_bias_matrix),
        library=course(FUSED, "every_row"),
    ),
    CuteExercise(
        id="16.3",
        title="bias_gelu",
        points=2,
        problem=linear_gelu(),
        shapes=SHAPES,
        simulated_shapes=FITTING,
        whole=WHOLE,
        part=Inside(build=host_functions.with_op),
        limits=WorkLimits(at_most=((EXPONENTIAL, 256),), distinct=True),
        library=course(OPS, "bias_gelu", "gelu"),
    ),
    CuteExercise(
        id="16.4",
        title="fetch",
        points=4,
        problem=linear_add(),
        shapes=SHAPES,
        simulated_shapes=SHAPES[:1],
        whole=WHOLE,
        part=Inside(build=host_functions.with_fetch),
        limits=WorkLimits(at_most=(("ld.global", 400), ("bar.sync", 64))),  # each element once, no barrier of its own
        library=course(FUSED, "fetch_operand"),
    ),
    CuteExercise(
        id="16.5",
        title="largest",
        points=4,
        problem=tile_amax((64, 64)),
        shapes=SHAPES,
        simulated_shapes=((130, 72, 40),),  # four tiles in which all warps have rows
        whole=WHOLE,
        part=Inside(build=host_functions.with_reduction),
        requires=("bar.sync",),
        limits=WorkLimits(at_most=(("bar.sync", 120), ("shfl", 270))),  # one barrier and five shuffles take 120 and 144
        library=course(FUSED, "largest"),
    ),
    ValueExercise(
        id="16.6",
        title="interleaving",
        points=2,
        cases=(
            interleaves("pieces of 8, as on Hopper", ((16, 8), (32, 8), (14336, 8)), (8,), INTERLEAVING),
            interleaves("pieces of 32, as here", ((64, 32), (160, 32)), (32,), INTERLEAVING),
            interleaves("single rows, and one piece", ((6, 1), (4, 2), (24, 24)), (1, 2, 3), INTERLEAVING),
        ),
    ),
    CuteExercise(
        id="16.7",
        title="gated",
        points=3,
        problem=linear_swiglu(32),
        shapes=GATED,
        whole=GATED[1:],
        part=Inside(build=host_functions.with_gate),
        limits=WorkLimits(at_most=((EXPONENTIAL, 256),), distinct=True),
        library=course(FUSED, "gated", "gate_and_up") | course(OPS, "swiglu", "silu"),
    ),
    ValueExercise(
        id="16.8",
        title="linear_backward",
        points=3,
        cases=(
            gradients((6, 4), (3, 4)),
            gradients((2, 5, 8), (8, 8)),
            gradients((2, 3, 4, 5), (7, 5)),
            gradients((2, 5, 8), (4, 8), made_by_gemm=True),
        ),
    ),
    ValueExercise(
        id="16.9",
        title="linear_fake",
        points=2,
        cases=FAKED,
        library=course(LAYER, "linear", "linear_fake"),
    ),
    ValueExercise(
        id="16.10",
        title="use_kernels",
        points=3,
        cases=SWAPPED,
        library=course(LAYER, "use_kernels"),
    ),
    ValueExercise(
        id="16.11",
        title="shard",
        points=3,
        cases=SHARES,
        library=course("tutorlib.kernels.fused.parallel", "shard"),
    ),
    ValueExercise(
        id="16.12",
        title="linear_gelu_backward",
        points=3,
        cases=(
            gradients((6, 4), (3, 4), biased=True),
            gradients((2, 3, 4, 5), (7, 5), biased=True),
            gradients((2, 5, 8), (8, 8), biased=True, scale=30.0),
            gradients((2, 5, 8), (4, 8), biased=True, made_by_gemm=True),
        ),
    ),
    ValueExercise(
        id="16.13",
        title="register",
        points=4,
        cases=REGISTERED,
    ),
    ValueExercise(
        id="16.14",
        title="GatedMLP",
        points=3,
        cases=GATED_MLPS,
        library=course("tutorlib.kernels.fused.mlp", "interleave", "FusedMLP.__init__"),
    ),
)
