"""The host functions around an answer: one part of a fused GEMM, or of a kernel of elements."""

from collections.abc import Callable

from tutorlib.checking.exercise import Answer


def elementwise(answer: Answer) -> Callable[..., None]:
    from tutorlib.kernels.fused.ampere import make_elementwise

    return make_elementwise(answer)


def with_bias_matrix(answer: Answer) -> Callable[..., None]:
    from cutlass import cute

    from tutorlib.kernels.fused.ampere import Fusion, make_fused
    from tutorlib.kernels.fused.ops import bias_gelu

    def as_matrix(bias: cute.Tensor, rows: int) -> cute.Tensor:
        view = answer(bias, rows)
        wanted = (rows, cute.size(bias))
        extents = tuple(cute.size(view, mode=[n]) for n in range(cute.rank(view)))
        if len(extents) == 2 and extents != wanted:
            raise ValueError(
                f"the view has the shape {view.shape} and should have {wanted}, rows and columns of C. Where a stride "
                "is 0, a coordinate beyond the shape still finds a number; code that reads the size gets a wrong one"
            )
        return view

    return make_fused(Fusion(bias_gelu, as_matrix=as_matrix))


def with_op(answer: Answer) -> Callable[..., None]:
    from tutorlib.kernels.fused.ampere import Fusion, make_fused

    return make_fused(Fusion(answer))


def with_fetch(answer: Answer) -> Callable[..., None]:
    from tutorlib.kernels.fused.ampere import Fusion, make_fused, whole_matrix
    from tutorlib.kernels.fused.ops import add

    return make_fused(Fusion(add, whole_matrix, answer))


def with_reduction(answer: Answer) -> Callable[..., None]:
    from tutorlib.kernels.fused.ampere import make_amax

    return make_amax(answer)


def with_gate(answer: Answer) -> Callable[..., None]:
    from tutorlib.kernels.fused.ampere import make_gated

    return make_gated(answer)
