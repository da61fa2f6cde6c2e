"""Remedies of notebook 16."""

from tutorlib.checking.exercise import Remedy
from tutorlib.dsl.refusal import RefusalKind
from tutorlib.exercises.n16_fusion.fakes import FakeFlaw
from tutorlib.exercises.n16_fusion.layers import SwapFlaw
from tutorlib.exercises.n16_fusion.operators import GradientFlaw
from tutorlib.exercises.n16_fusion.parts import RowsFlaw, ShareFlaw
from tutorlib.failure import Difference, Fail, Hazard
from tutorlib.models.row_gemm import NotRow

FUSION_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "16.1": (
        Remedy(
            Difference.WRONG(got="nan"),
            "At x = 30 the exponential of tanh's argument is infinite, and inf / inf is no number. "
            "cute.math.tanh has no x too large for it.",
        ),
        Remedy(
            Difference.NEARLY,
            "Put the message's x (here x is nearly y) into the formula term by term: √(2/π) = 0.79788, and inside of "
            "the brackets 0.044715 times x to the third. Nothing is rounded on the way.",
        ),
        Remedy(Difference.WRONG(rule="elements ≥ 1"), "For a large x, tanh is 1 and GELU is x itself: is yours?"),
    ),
    "16.2": (
        Remedy(
            Hazard.OUTSIDE,
            "The bias has N numbers and no more: whatever the row, column n is the n-th of them. So a step down moves "
            "the offset by nothing, and a step to the right by one.",
        ),
        Remedy(
            RefusalKind.TILE_MODES,
            "A matrix is wanted, two modes: cute.make_layout((rows, columns), stride=…) over bias.iterator.",
        ),
        Remedy(
            Difference.WRONG(at="c[0, 1]"),
            "Element (0, 1) should have the second number of the bias. Shape (rows, columns): which of the two "
            "strides is 0?",
        ),
    ),
    "16.3": (
        Remedy(
            Difference.NEARLY,
            "The accumulators are fp32 and stay it: add the bias, then GELU of the whole, and no .to() in between.",
        ),
        Remedy(
            (Difference.WRONG(at="c[0, 0]"), Difference.WRONG(at="c[0, 1]")),
            "Two steps: acc + bias, and your gelu of that.",
        ),
    ),
    "16.4": (
        Remedy(
            Hazard.OUTSIDE,
            "Ask for each n on its own, before its load, and for row and column both: "
            "cute.elem_less(acc.coordinates[n], acc.shape).",
        ),
        Remedy(Difference.WRONG(along="row"), "elem_less is `<` already: the last row is inside."),
        Remedy(
            Difference.WRONG(at="c[0, 0]", got="nan"),
            "acc.tCgC is where the result goes, and holds nothing yet. The operand to add is acc.tCgD.",
        ),
        Remedy(
            Difference.WRONG(at="c[0, 1]"),
            "What you return is added to the accumulators: registers[n] = acc.tCgD[n].to(Float32).",
        ),
    ),
    "16.5": (
        Remedy(
            Hazard.RACE(earlier="write"),
            "All warps write their place of `partial`, then sync_threads(), then thread 0 reads them all.",
        ),
        Remedy(
            Hazard.RACE(earlier="store"),
            "A warp has one place, partial[thread // 32], and all of its lanes must know the same number by then: "
            "five shuffles, with offsets 16, 8, 4, 2 and 1.",
        ),
        Remedy(
            Difference.WRONG(elements="1 of 6"),
            "After the barrier go through all of partial, cute.size(partial) numbers: each warp has one.",
        ),
        Remedy(
            Difference.WRONG(elements="all 6"),
            "A maximum of maxima in every step, of |value|, beginning with 0: ReductionOp.MAX, then cute.arch.fmax.",
        ),
        Remedy(
            Difference.WRONG(at="amax[0, 1]"),
            "The largest |value|: of x and -x the larger, before anything is reduced.",
        ),
    ),
    "16.6": (
        Remedy(
            RowsFlaw.NUMBER,
            "Three modes: the row in its piece, gate or up, which piece. Their sizes multiplied are 2 · features.",
        ),
        Remedy(RowsFlaw.NO_PAIR, "Return (shape, stride), two tuples of three numbers each."),
        Remedy(
            RowsFlaw.ROW(wanted="up's row 0"),
            "After `width` rows of gate comes up, which begins `features` rows further down: that is the second "
            "mode's stride.",
        ),
    ),
    "16.7": (
        Remedy(Difference.WRONG(got="nan"), "e^g is infinite for a large g. g / (1 + e^-g) is not, nor is tanh."),
        Remedy(
            Difference.NEARLY,
            "Which half gates? silu(gate) · up, in fp32: the left half of `rest` is gate, and the product is taken "
            "after silu.",
        ),
        Remedy(
            (Difference.WRONG(at="c[0, 0]"), Difference.WRONG(at="c[0, 1]")),
            "Two things to go through: silu(g) = g / (1 + e^-g), with the factor g, times up; and where both lie: "
            "neighbors are columns of one matrix, gate and up are cute.size(half) registers apart.",
        ),
    ),
    "16.8": (
        Remedy(NotRow.VIEW, "gemm needs contiguous rows, and .mT changes strides alone: .mT.contiguous()."),
        Remedy(
            GradientFlaw.GEMMS, "One call for each gradient, of whole matrices, and nothing is multiplied elsewhere."
        ),
        Remedy(GradientFlaw.NO_PAIR, "Return (dx, dweight)."),
        Remedy(
            Fail.RAISED,
            "gemm sums over the last mode of both: for dx that is out, so B is weight with `in` as its rows; for "
            "dweight it is the rows of grad and of x.",
        ),
        Remedy(
            (GradientFlaw.SHAPE, GradientFlaw.TRANSPOSED),
            "Each gradient has the shape of what it is the gradient of: dx that of x, with all its modes, dweight "
            "(out, in).",
        ),
    ),
    "16.9": (
        Remedy(
            FakeFlaw.ASKS,
            "len() and int() make a number of a symbol. Pass sizes on as they are: x.shape[:-1], weight.shape[0].",
        ),
        Remedy(FakeFlaw.STRIDES, "Make it in its final shape, all at once: it is contiguous then."),
        Remedy(FakeFlaw.NO_TENSOR, "Return a tensor without data: x.new_empty(…)."),
        Remedy(FakeFlaw.COMPUTES, "Write down the result's shape yourself, and pass it to x.new_empty."),
        Remedy(
            FakeFlaw.SHAPE,
            "x.new_empty(*shape) takes dtype and device from x. The modes are x's, but for the last, which is "
            "weight's first.",
        ),
    ),
    "16.10": (
        Remedy(
            SwapFlaw.TENSOR,
            "An optimiser holds the old parameters: hand these over, new.weight = child.weight, and copy nothing.",
        ),
        Remedy(SwapFlaw.CLASS(got="KernelLinear"), "type(child) is nn.Linear, so that subclasses stay."),
        Remedy(SwapFlaw.CLASS(got="Linear"), "What is no nn.Linear has children of its own: use_kernels(child)."),
        Remedy(SwapFlaw.MODE, "A new module is in training mode: new.train(child.training)."),
        Remedy(SwapFlaw.RETURNS, "Return the module."),
        Remedy(SwapFlaw.PARAMETERS, "weight and bias both go over; the bias is None where there is none."),
    ),
    "16.11": (
        Remedy(
            ShareFlaw.VIEW, "A slice is a view, and with one rank even .contiguous() is: .clone() copies in any case."
        ),
        Remedy(ShareFlaw.SHAPE, "Features are cut, and nothing else: rows of gate and of up, columns of down."),
        Remedy(ShareFlaw.NOT_REFUSED, "if features % world: raise ValueError(…), before anything is cut."),
    ),
}
