"""Exercises of notebook 16: fused epilogues, an operator for torch, and a split over two GPUs."""

from typing import TYPE_CHECKING

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.library_use import InModule
from tutorlib.checking.part import Inside
from tutorlib.checking.values import ValueExercise
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n16_fusion import registration
from tutorlib.exercises.n16_fusion.fakes import faked, symbolic
from tutorlib.exercises.n16_fusion.gated_mlp import gated
from tutorlib.exercises.n16_fusion.judge import host_functions
from tutorlib.exercises.n16_fusion.layers import swapped
from tutorlib.exercises.n16_fusion.operators import gradients, made_by_gemm
from tutorlib.exercises.n16_fusion.parts import INTERLEAVING, interleaves, refuses, splits
from tutorlib.exercises.n16_fusion.remedies import FUSION_REMEDIES
from tutorlib.problems.fused import gelu, linear_add, linear_gelu, linear_swiglu, tile_amax
from tutorlib.problems.wrong_result import WrongResult

if TYPE_CHECKING:
    from torch import Tensor

SHAPES = ((65, 104, 40), (130, 72, 96), (64, 64, 64))  # 2×2 tiles with edges everywhere, 3×2, and one that fits
WHOLE = SHAPES[2:]
FITTING = ((64, 128, 32),)  # what is not about edges is simulated without them, in a tenth of the time
GATED = ((65, 128, 40), (64, 64, 64))


def quick_gelu(x: "Tensor") -> "Tensor":
    return x * (1.702 * x).sigmoid()


QUICK = WrongResult("x · sigmoid(1.702 · x) is a quicker approximation, which is off by up to 0.02.", quick_gelu)
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
        mistakes=lambda shape: (QUICK,),
        library=course(OPS, "gelu"),
        hints=(
            "x * x works element by element, like every other operator; cute.math.tanh takes all of x at once.",
            "tanh(u) written with exp(2·u) is inf/inf where u is large. cute.math.tanh is not.",
            "0.5 * x * (1.0 + cute.math.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))",
        ),
        remedies=FUSION_REMEDIES["16.1"],
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
        hints=(
            "A layout may map many coordinates to one offset. By how much does the offset grow from row to row?",
            "cute.make_layout((rows, columns), stride=(0, 1)) over bias.iterator.",
        ),
        remedies=FUSION_REMEDIES["16.2"],
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
        hints=(
            "Both arguments are values of the same shape, in fp32. Which comes first, the bias or GELU?",
            "Nothing is rounded here: the kernel rounds once, when it stores.",
        ),
        remedies=FUSION_REMEDIES["16.3"],
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
        hints=(
            "cute.make_rmem_tensor(acc.tCrC.shape, Float32) makes fp32 registers of the right shape; fill them with 0.",
            "Is coordinates[n] inside? cute.elem_less compares (row, column) with acc.shape, both of them.",
            "for n in cutlass.range_constexpr(cute.size(registers)): if elem_less(…): registers[n] = "
            "acc.tCgD[n].to(Float32)",
        ),
        remedies=FUSION_REMEDIES["16.4"],
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
        hints=(
            "Reduce in three steps: a thread's values, a warp's threads, the block's warps.",
            "A thread: where(values < 0.0, -values, values).reduce(cute.ReductionOp.MAX, 0.0, 0). A warp: five "
            "times fmax with shuffle_sync_bfly(mine, offset=16), then 8, 4, 2, 1.",
            "Then partial[warp] = mine, a barrier, and the maximum over cute.size(partial) of them.",
        ),
        remedies=FUSION_REMEDIES["16.5"],
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
        hints=(
            "It has three modes: the row in its piece, gate or up, and the piece. How large is each?",
            "The next row of a piece is the next row of its matrix. Up begins `features` rows after gate.",
        ),
        remedies=FUSION_REMEDIES["16.6"],
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
        hints=(
            "tCrC's shape is (pairs, atoms, (neighbors, rest)), and rest is the slowest mode: its first half is gate.",
            "half = cute.make_layout((pairs, atoms, (neighbors, rest // 2))); gate begins at tCrC.iterator, up "
            "cute.size(half) further on.",
            "silu(g) is g / (1 + exp(-g)), or g/2 · (1 + tanh(g/2)); neither overflows to NaN.",
        ),
        remedies=FUSION_REMEDIES["16.7"],
    ),
    ValueExercise(
        id="16.8",
        title="linear_backward",
        points=3,
        cases=(
            gradients((6, 4), (3, 4)),
            gradients((2, 5, 8), (8, 8)),
            gradients((2, 3, 4, 5), (7, 5)),
            made_by_gemm("gemm's results in both, and copies", (2, 5, 8), (4, 8)),
        ),
        hints=(
            "y_mn = Σ_k x_mk w_nk. What is ∂L/∂x_mk, where ∂L/∂y_mn is grad_mn? Over which index does its sum run?",
            "Σ_n grad_mn w_nk: gemm sums over the last modes, so B is weight with in as its rows, weight.mT.",
            "Σ_m grad_mn x_mk sums over rows: both operands are transposed. gemm needs contiguous rows: .contiguous().",
        ),
        remedies=FUSION_REMEDIES["16.8"],
    ),
    ValueExercise(
        id="16.9",
        title="linear_fake",
        points=2,
        cases=(
            faked("a matrix", (6, 4), (3, 4)),
            faked("a batch of them, bf16", (2, 3, 5, 8), (7, 8), "bfloat16"),
            faked("on another device", (5, 8), (8, 8), device="meta"),
            symbolic("sizes that are unknown"),
        ),
        hints=(
            "Shape, dtype, device: which of them does the result take from x, and which mode from weight?",
            "x.new_empty(*shape) takes dtype and device from x.",
        ),
        library=course(LAYER, "linear", "linear_fake"),
        remedies=FUSION_REMEDIES["16.9"],
    ),
    ValueExercise(
        id="16.10",
        title="use_kernels",
        points=3,
        cases=(
            swapped("an MLP", compiled=True),
            swapped("layers in layers"),
            swapped("a bias"),
            swapped("another dtype"),
            swapped("frozen, in eval"),
            swapped("a subclass, which stays"),
        ),
        library=course(LAYER, "use_kernels"),
        hints=(
            "named_children() lists the modules directly below; recurse into those that are not nn.Linear.",
            "A new layer has new parameters, which no optimizer knows: replace them with the old ones.",
            "KernelLinear(in_features, out_features, bias is not None, device='meta') has shapes and no memory. Assign "
            "the old weight and bias, and call train(child.training).",
        ),
        remedies=FUSION_REMEDIES["16.10"],
    ),
    ValueExercise(
        id="16.11",
        title="shard",
        points=3,
        cases=(
            splits("one GPU, and two", (4, 6, 1), (6, 8, 2)),
            splits("four GPUs", (8, 12, 4)),
            refuses("features that do not divide"),
        ),
        library=course("tutorlib.kernels.fused.parallel", "shard"),
        hints=(
            "silu(gate) · up works feature by feature, so a rank needs the same features of gate and up.",
            "down's columns are features, so a rank's share of down is columns.",
            "weight.chunk(world)[rank] and down.chunk(world, 1)[rank] are views: clone and contiguous make tensors.",
        ),
        remedies=FUSION_REMEDIES["16.11"],
    ),
    ValueExercise(
        id="16.12",
        title="linear_gelu_backward",
        points=3,
        cases=(
            gradients((6, 4), (3, 4), biased=True),
            gradients((2, 3, 4, 5), (7, 5), biased=True),
            gradients((2, 5, 8), (8, 8), biased=True, scale=30.0),
            made_by_gemm("gemm's results in all three, and copies", (2, 5, 8), (4, 8), biased=True),
        ),
        hints=(
            "y = gelu(z), z = x·Wᵀ + bias. Compute z again, then dz = grad · gelu′(z); z is the result of a linear "
            "layer, whose backward you have.",
            "With u = √(2/π)·(z + 0.044715 z³) and t = tanh(u): gelu′ = ½(1 + t) + ½z·(1 − t²)·u′, and "
            "u′ = √(2/π)·(1 + 3·0.044715 z²).",
            "z = gemm(x.flatten(0, -2).contiguous(), weight).view(grad.shape) + bias. The bias is added to each row, "
            "so its gradient is dz.flatten(0, -2).sum(0).",
        ),
        remedies=FUSION_REMEDIES["16.12"],
    ),
    ValueExercise(
        id="16.13",
        title="register",
        points=4,
        cases=(
            registration.eager("eager mode"),
            registration.traced("tensors without data"),
            registration.differentiated("backward()"),
            registration.compiled("torch.compile"),
            registration.cast("autocast"),
        ),
        hints=(
            "operator = torch.library.custom_op(name, forward, mutates_args=()). Each further row of the table is a "
            "method of it.",
            "operator.register_autograd(backward, setup_context=…): torch calls setup_context(ctx, inputs, output) "
            "after forward, and backward(ctx, grad) later. ctx.saved_tensors has what ctx.save_for_backward(*inputs) "
            "kept.",
            "operator.register_autograd(lambda ctx, grad: backward(grad, *ctx.saved_tensors), setup_context=keep), and "
            'operator.register_autocast(device, torch.bfloat16) for "cpu" and for "cuda".',
        ),
        remedies=FUSION_REMEDIES["16.13"],
    ),
    ValueExercise(
        id="16.14",
        title="GatedMLP",
        points=3,
        cases=(
            gated("an MLP"),
            gated("an MLP in bf16", "bfloat16"),
            gated("activations, and the plain module", besides=True),
        ),
        library=course("tutorlib.kernels.fused.mlp", "interleave", "FusedMLP.__init__"),
        hints=(
            "Two things are parameters: the interleaved matrix, an nn.Parameter of this module, and down_proj's.",
            "gate.view(-1, 8, hidden) has pieces of 8 rows; torch.stack((gate, up), 1) puts gate's and up's pieces in "
            "turn, and .flatten(0, 2) makes rows of them again.",
            "forward: self.down_proj(self.gated_linear(x, self.gate_up)).",
        ),
        remedies=FUSION_REMEDIES["16.14"],
    ),
)
