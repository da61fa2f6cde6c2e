"""Remedies of notebook 16."""

from tutorlib.checking.exercise import Remedy, Words

FUSION_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "16.1": (
        Remedy(
            Words("is nan"),
            "At x = 30 the exponential of tanh's argument is infinite, and inf / inf is no number. "
            "cute.math.tanh has no x too large for it.",
        ),
        Remedy(
            Words("Nearly right everywhere"),
            "Put the message's x (here x is nearly y) into the formula term by term: √(2/π) = 0.79788, and inside of "
            "the brackets 0.044715 times x to the third. Nothing is rounded on the way.",
        ),
        Remedy(
            Words("all in elements ≥ 1."),
            "For a large x, tanh is 1 and GELU is x itself: is yours?",
        ),
    ),
    "16.2": (
        Remedy(
            Words("lies outside"),
            "The bias has N numbers and no more: whatever the row, column n is the n-th of them. So a step down moves "
            "the offset by nothing, and a step to the right by one.",
        ),
        Remedy(
            Words("has more modes than the tensor"),
            "A matrix is wanted, two modes: cute.make_layout((rows, columns), stride=…) over bias.iterator.",
        ),
        Remedy(
            Words("c[0, 1] is"),
            "Element (0, 1) should have the second number of the bias. Shape (rows, columns): which of the two "
            "strides is 0?",
        ),
    ),
    "16.3": (
        Remedy(
            Words("Nearly right everywhere"),
            "The sums are fp32 and stay it: add the bias, then GELU of the whole, and no .to() in between.",
        ),
        Remedy(
            (Words("c[0, 0] is"), Words("c[0, 1] is")),
            "Two steps: sums + bias, and your gelu of that.",
        ),
    ),
    "16.4": (
        Remedy(
            Words("lies outside"),
            "Ask for each n on its own, before its load, and for row and column both: "
            "cute.elem_less(sums.coordinates[n], sums.shape).",
        ),
        Remedy(
            Words("all in row"),
            "elem_less is `<` already: the last row is inside.",
        ),
        Remedy(
            Words("c[0, 0] is nan"),
            "sums.tCgC is where the result goes, and holds nothing yet. What stands beside the sums is sums.tCgD.",
        ),
        Remedy(
            Words("c[0, 1] is"),
            "What you return is added to the sums: registers[n] = sums.tCgD[n].to(Float32).",
        ),
    ),
    "16.5": (
        Remedy(
            Words("with no barrier between"),
            "All warps write their place of `partial`, then sync_threads(), then thread 0 reads them all.",
        ),
        Remedy(
            Words("store different values to one place"),
            "A warp has one place, partial[thread // 32], and all of its lanes must know the same number by then: "
            "five shuffles, with offsets 16, 8, 4, 2 and 1.",
        ),
        Remedy(
            Words("Wrong: 1 of 6 elements"),
            "After the barrier go through all of partial, cute.size(partial) numbers: each warp has one.",
        ),
        Remedy(
            Words("Wrong: all 6 elements"),
            "A maximum of maxima in every step, of |value|, beginning with 0: ReductionOp.MAX, then cute.arch.fmax.",
        ),
        Remedy(
            Words("amax[0, 1] is"),
            "The largest |value|: of x and -x the larger, before anything is reduced.",
        ),
    ),
    "16.6": (
        Remedy(
            Words("and gate and up together have"),
            "Three modes: the row in its piece, gate or up, which piece. Their sizes multiplied are 2 · features.",
        ),
        Remedy(
            Words("it should be a pair"),
            "Return (shape, stride), two tuples of three numbers each.",
        ),
        Remedy(
            Words("should be up's row 0"),
            "After `width` rows of gate comes up, which begins `features` rows further down: that is the second "
            "mode's stride.",
        ),
    ),
    "16.7": (
        Remedy(
            Words("is nan"),
            "e^g is infinite for a large g. g / (1 + e^-g) is not, nor is tanh.",
        ),
        Remedy(
            Words("Nearly right everywhere"),
            "Which half gates? silu(gate) · up, in fp32: the left half of `rest` is gate, and the product is taken "
            "after silu.",
        ),
        Remedy(
            (Words("c[0, 0] is"), Words("c[0, 1] is")),
            "Two things to go through: silu(g) = g / (1 + e^-g), with the factor g, times up; and where both lie: "
            "neighbours are columns of one matrix, gate and up are cute.size(half) registers apart.",
        ),
    ),
    "16.8": (
        Remedy(
            Words("is a transposed view"),
            "gemm wants contiguous rows, and .mT changes strides alone: .mT.contiguous().",
        ),
        Remedy(
            Words("gemm was called"),
            "One call for each gradient, of whole matrices, and nothing is multiplied elsewhere.",
        ),
        Remedy(
            Words("two tensors are wanted"),
            "Return (dx, dweight).",
        ),
        Remedy(
            Words("raised"),
            "gemm sums over the last mode of both: for dx that is out, so B is weight with `in` as its rows; for "
            "dweight it is the rows of grad and of x.",
        ),
        Remedy(
            (Words("has the shape"), Words("is transposed")),
            "Each gradient has the shape of what it is the gradient of: dx that of x, with all its modes, dweight "
            "(out, in).",
        ),
    ),
    "16.9": (
        Remedy(
            Words("asks for a size's value"),
            "len() and int() make a number of a symbol. Pass sizes on as they are: x.shape[:-1], weight.shape[0].",
        ),
        Remedy(
            Words("gives strides"),
            "Make it in its final shape, all at once: it is contiguous then.",
        ),
        Remedy(
            Words("and no tensor"),
            "A tensor is asked for, without data: x.new_empty(…).",
        ),
        Remedy(
            Words("; the result is"),
            "x.new_empty(*shape) takes dtype and device from x. The modes are x's, but for the last, which is "
            "weight's first.",
        ),
    ),
    "16.10": (
        Remedy(
            Words("is another tensor now"),
            "An optimiser holds the old parameters: hand these over, new.weight = child.weight, and copy nothing.",
        ),
        Remedy(
            Words("is a KernelLinear, not"),
            "type(child) is nn.Linear, so that subclasses stay.",
        ),
        Remedy(
            Words("is a Linear, not"),
            "What is no nn.Linear has children of its own: use_kernels(child).",
        ),
        Remedy(
            Words("and is no more"),
            "A new module is in training mode: new.train(child.training).",
        ),
        Remedy(
            Words("it returns"),
            "Return the module.",
        ),
        Remedy(
            Words("its parameters were"),
            "weight and bias both go over; the bias is None where there is none.",
        ),
    ),
    "16.11": (
        Remedy(
            Words("is a view"),
            "A slice is a view, and with one rank even .contiguous() is: .clone() copies in any case.",
        ),
        Remedy(
            Words("its share is"),
            "Features are cut, and nothing else: rows of gate and of up, columns of down.",
        ),
        Remedy(
            Words("10 features over 4 ranks"),
            "if features % world: raise ValueError(…), before anything is cut.",
        ),
    ),
}
