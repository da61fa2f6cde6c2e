"""Remedies of notebook 16."""

from tutorlib.checking.exercise import Remedy
from tutorlib.exercises.n16_fusion.fakes import FakeFlaw
from tutorlib.exercises.n16_fusion.gated_mlp import GatedFlaw
from tutorlib.exercises.n16_fusion.layers import SwapFlaw
from tutorlib.exercises.n16_fusion.operators import GradientFlaw
from tutorlib.exercises.n16_fusion.parts import RowsFlaw, ShareFlaw
from tutorlib.exercises.n16_fusion.registration import OperatorFlaw
from tutorlib.failure import Difference, Fail, Hazard
from tutorlib.models.row_gemm import NotRow

ONE_EXPONENTIAL = Remedy(
    Fail.TOO_MANY,
    "Each result takes one tanh or one exponential: write the formula with one of them, once. Name an intermediate "
    "result that you need again.",
)
FUSION_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "16.1": (
        ONE_EXPONENTIAL,
        Remedy(
            Difference.WRONG(got="nan"),
            "At x = 30 the exponential of tanh's argument overflows to inf, and inf / inf is NaN. "
            "cute.math.tanh does not overflow.",
        ),
        Remedy(
            Difference.NEARLY,
            "Evaluate the formula term by term at one of the message's x: √(2/π) = 0.79788, and inside the parentheses "
            "0.044715 times x cubed. Do not round on the way.",
        ),
        Remedy(Difference.WRONG(rule="elements ≥ 1"), "For large x, tanh is 1 and GELU is x. What does yours return?"),
    ),
    "16.2": (
        Remedy(
            Fail.DOES_NOT_COMPILE,
            "The shape is (rows, N), and in every row column n is the n-th number of the bias: a step down does not "
            "move the offset, and a step to the right moves it by one.",
        ),
    ),
    "16.3": (
        ONE_EXPONENTIAL,
        Remedy(
            Difference.NEARLY,
            "Stay in fp32: add the bias to the accumulators, apply GELU to the sum, and use no .to() in between.",
        ),
        Remedy(
            (Difference.WRONG(at="c[0, 0]"), Difference.WRONG(at="c[0, 1]")),
            "Compute acc + bias first, then your gelu of that.",
        ),
    ),
    "16.4": (
        Remedy(Fail.TOO_MANY, "One loop over the accumulators, one load for each that is inside, and no barrier."),
        Remedy(
            Hazard.OUTSIDE,
            "Test each n before its load, row and column both: cute.elem_less(acc.coordinates[n], acc.shape).",
        ),
        Remedy(Difference.WRONG(along="row"), "elem_less is `<` already: the last row is inside."),
        Remedy(
            Difference.WRONG(at="c[0, 0]", got="nan"),
            "acc.tCgC is the result's place and is not written yet. Load the operand from acc.tCgD.",
        ),
        Remedy(
            Difference.WRONG(at="c[0, 1]"),
            "The kernel adds your result to the accumulators: registers[n] = acc.tCgD[n].to(Float32).",
        ),
    ),
    "16.5": (
        Remedy(
            Fail.TOO_MANY,
            "Five shuffles reduce a warp without a barrier: offsets 16, 8, 4, 2 and 1, each on the result of the last. "
            "One barrier separates the warps' writes from thread 0's reads.",
        ),
        Remedy(
            Hazard.RACE(earlier="write"),
            "Every warp writes its element of `partial`; after sync_threads(), thread 0 reads them all.",
        ),
        Remedy(
            Hazard.RACE(earlier="store"),
            "All lanes of a warp write partial[thread // 32], so they must hold the same value: reduce it first by "
            "five shuffles, with offsets 16, 8, 4, 2 and 1.",
        ),
        Remedy(
            Difference.WRONG(elements="1 of 6"),
            "After the barrier, reduce all cute.size(partial) elements of partial: one per warp.",
        ),
        Remedy(
            Difference.WRONG(elements="all 6"),
            "Every step takes the maximum of |value|, starting from 0: ReductionOp.MAX, then cute.arch.fmax.",
        ),
        Remedy(
            Difference.WRONG(at="amax[0, 1]"),
            "Take |value| before you reduce: the larger of x and -x.",
        ),
    ),
    "16.6": (
        Remedy(
            RowsFlaw.NUMBER,
            "There are three modes: the row in its piece, gate or up, and the piece. The product of their sizes is "
            "2 · features.",
        ),
        Remedy(RowsFlaw.NO_PAIR, "Return (shape, stride), two tuples of three numbers each."),
        Remedy(
            RowsFlaw.ROW(wanted="up's row 0"),
            "After `width` rows of gate comes up, which begins `features` rows further down: the second mode's stride.",
        ),
    ),
    "16.7": (
        ONE_EXPONENTIAL,
        Remedy(
            Difference.WRONG(got="nan"), "e^g overflows for large g. g / (1 + e^-g) does not, and neither does tanh."
        ),
        Remedy(
            (Difference.NEARLY, Difference.WRONG(at="c[0, 4]")),
            "Check which half is the gate: the first half of `rest`. Apply silu to it in fp32, then multiply by up.",
        ),
        Remedy(
            (Difference.WRONG(at="c[0, 0]"), Difference.WRONG(at="c[0, 1]")),
            "Check two things: silu(g) = g / (1 + e^-g) has the factor g; and neighbors are columns of one matrix, "
            "while gate and up are cute.size(half) registers apart.",
        ),
    ),
    "16.8": (
        Remedy(NotRow.VIEW, "gemm needs contiguous rows, and .mT changes only the strides: use .mT.contiguous()."),
        Remedy(GradientFlaw.GEMMS, "Call gemm once per gradient, with whole matrices, and multiply nothing elsewhere."),
        Remedy(
            GradientFlaw.COPIES,
            "x, grad and gemm's results have contiguous rows already: pass and return them, or views of them. Only "
            ".mT needs .contiguous(), once for each matrix. If a result of gemm is transposed, exchange its operands.",
        ),
        Remedy(GradientFlaw.NO_PAIR, "Return (dx, dweight)."),
        Remedy(GradientFlaw.DTYPE, "gemm's results have the dtype of its operands; return them without a conversion."),
        Remedy(
            Fail.RAISED,
            "gemm sums over the last mode of both operands. For dx that is `out`: B is weight with `in` as its rows. "
            "For dweight it is the rows of grad and of x.",
        ),
        Remedy(
            (GradientFlaw.SHAPE, GradientFlaw.TRANSPOSED),
            "A gradient has the shape of its tensor: dx that of x, with all its modes, and dweight (out, in).",
        ),
    ),
    "16.9": (
        Remedy(
            FakeFlaw.ASKS,
            "len() and int() turn a symbol into a number. Pass sizes as they are: x.shape[:-1], weight.shape[0].",
        ),
        Remedy(FakeFlaw.STRIDES, "Make the tensor in its final shape at once; then it is contiguous."),
        Remedy(FakeFlaw.NO_TENSOR, "Return a tensor without data: x.new_empty(…)."),
        Remedy(FakeFlaw.COMPUTES, "Write down the result's shape yourself, and pass it to x.new_empty."),
        Remedy(
            FakeFlaw.SHAPE,
            "x.new_empty(*shape) takes dtype and device from x. The shape is x's, but its last mode is weight's first.",
        ),
    ),
    "16.10": (
        Remedy(
            SwapFlaw.TENSOR,
            "An optimizer holds the old parameters: assign them, new.weight = child.weight, and copy nothing.",
        ),
        Remedy(SwapFlaw.CLASS(got="KernelLinear"), "Test `type(child) is nn.Linear`, so that subclasses stay."),
        Remedy(SwapFlaw.CLASS(got="Linear"), "Any other child may have children: call use_kernels(child)."),
        Remedy(SwapFlaw.MODE, "A new module starts in training mode: call new.train(child.training)."),
        Remedy(SwapFlaw.RETURNS, "Return the module."),
        Remedy(SwapFlaw.SIZES, "KernelLinear(child.in_features, child.out_features, …), as the old layer was made."),
        Remedy(SwapFlaw.PARAMETERS, "Assign weight and bias both; a layer without a bias has bias None."),
    ),
    "16.11": (
        Remedy(ShareFlaw.VIEW, "A slice is a view, and with one rank so is .contiguous(). .clone() always copies."),
        Remedy(ShareFlaw.COPIES, "Slice first, which copies nothing, then clone the slice."),
        Remedy(ShareFlaw.SHAPE, "Split only the features: rows of gate and up, columns of down."),
        Remedy(ShareFlaw.NOT_REFUSED, "Test it first: if features % world: raise ValueError(…)."),
    ),
    "16.12": (
        Remedy(NotRow.VIEW, "gemm needs contiguous rows: .contiguous() after .mT, and after a view of other strides."),
        Remedy(
            GradientFlaw.GEMMS,
            "One gemm computes x · Wᵀ again, and linear_backward calls gemm for each of its two gradients.",
        ),
        Remedy(
            GradientFlaw.COPIES,
            "x, grad and gemm's results have contiguous rows already: pass and return them, or views of them. Only "
            ".mT needs .contiguous(), once for each matrix. If a result of gemm is transposed, exchange its operands.",
        ),
        Remedy(GradientFlaw.NO_PAIR, "Return (dx, dweight, dbias)."),
        Remedy(
            GradientFlaw.VALUE(name="nan"),
            "An exponential overflows for large z, and inf / inf is NaN. torch.tanh does not overflow.",
        ),
        Remedy(
            GradientFlaw.VALUE(name="x"),
            "Evaluate your slope at z = 0, where it is 1/2, and at a large z, where it is 1. Is z complete, bias "
            "included, and is grad multiplied by the slope before the two GEMMs?",
        ),
        Remedy(
            GradientFlaw.VALUE(name="bias"), "The bias is added after the GEMM: its gradient is the sum of dz's rows."
        ),
        Remedy(
            (GradientFlaw.SHAPE, GradientFlaw.TRANSPOSED),
            "A gradient has the shape of its tensor. The bias's is (out,): sum dz over all rows.",
        ),
        Remedy(Fail.RAISED, "gemm takes matrices: flatten x's leading modes, and give the result grad's shape."),
    ),
    "16.13": (
        Remedy(
            OperatorFlaw.NO_OPERATOR, "Return what torch.library.custom_op(name, forward, mutates_args=()) returns."
        ),
        Remedy(OperatorFlaw.FAKE, "operator.register_fake(fake)."),
        Remedy(
            OperatorFlaw.BACKWARD,
            "operator.register_autograd(backward, setup_context=…). torch calls the first with (ctx, grad), and "
            "expects a gradient for each input.",
        ),
        Remedy(
            OperatorFlaw.GRADIENTS,
            "torch calls your function with (ctx, grad): return backward(grad, *ctx.saved_tensors), in the order of "
            "the inputs.",
        ),
        Remedy(
            OperatorFlaw.SAVED,
            "Keep the inputs with ctx.save_for_backward(*inputs), not as attributes of ctx: torch then checks their "
            "versions.",
        ),
        Remedy(
            OperatorFlaw.KEPT, "The backward takes (grad, *inputs): keep the inputs, as they are, and nothing else."
        ),
        Remedy(OperatorFlaw.COPIES, "Pass forward itself to custom_op, or return what it returns."),
        Remedy(OperatorFlaw.DEVICES, "Without device_types=, custom_op calls forward for tensors of any device."),
        Remedy(OperatorFlaw.CALLS, "custom_op(name, forward, mutates_args=()) takes forward as it is."),
        Remedy(
            OperatorFlaw.COMPILED,
            "torch.compile traces forward and backward without data: pass on what you are given, and ask for no "
            "tensor's values.",
        ),
        Remedy(
            OperatorFlaw.AUTOCAST,
            'operator.register_autocast(device, torch.bfloat16), once for "cpu" and once for "cuda".',
        ),
        Remedy(
            Fail.RAISED,
            "custom_op needs mutates_args, the arguments that forward writes to. There are none: mutates_args=().",
        ),
    ),
    "16.14": (
        Remedy(GatedFlaw.NO_MODULE, "Derive the class from nn.Module, and call super().__init__() first."),
        Remedy(
            GatedFlaw.PARAMETERS,
            "Three weights are in two parameters: nn.Parameter(interleaved), made once in __init__, and down_proj's. "
            "Nothing else of the plain module is kept.",
        ),
        Remedy(
            GatedFlaw.ROWS,
            "Rows go in pieces of 8, gate first. View each matrix as (features / 8, 8, hidden), stack the two along a "
            "new mode 1, and flatten the first three modes.",
        ),
        Remedy(GatedFlaw.DOWN, "self.down_proj = plain.down_proj keeps the layer with its parameter."),
        Remedy(GatedFlaw.CALLS, "One call of gated_linear(x, self.gate_up) computes gate, up and their product."),
        Remedy(
            GatedFlaw.GRADIENTS,
            "The operator takes x and the parameter themselves: neither .detach() nor no_grad() belongs in forward.",
        ),
        Remedy(
            GatedFlaw.COPIES,
            "x and the operator's result go on as they are: gated_linear takes x, down_proj takes what it returns.",
        ),
        Remedy(GatedFlaw.PLAIN, "Read plain's weights, and make new memory for gate_up: torch.stack copies."),
        Remedy(GatedFlaw.DEVICE, "torch.stack and gate.new_empty make tensors on gate's device, in its dtype."),
        Remedy(GatedFlaw.RESULT, "forward is self.down_proj(self.gated_linear(x, self.gate_up))."),
        Remedy(
            Fail.RAISED,
            "x may have any number of modes: pass it on as it is. down_proj is plain's own layer, in plain's dtype.",
        ),
    ),
}
