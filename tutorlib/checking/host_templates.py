"""Host functions that the course puts around an answer: gemm(a, b, c) with one part written by the student.

They are compiled where the answer is, so the sandbox imports this module and none of `tutorlib.exercises`.
"""

from collections.abc import Callable
from typing import Any

from tutorlib.checking.exercise import Answer

# Notebook 13 ----------------------------------------------------------------------------------------------------------


def with_loop(answer: Answer) -> Callable[..., None]:
    """The course's kernel with this main loop."""
    from tutorlib.kernels.hopper.first import Parts, make_first_gemm

    return make_first_gemm(Parts(main_loop=answer))


# Notebook 14 ----------------------------------------------------------------------------------------------------------


def with_producer(produce: Answer) -> Callable[..., None]:
    """The host function gemm(a, b, c) with this producer and the course's consumers."""
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.specialised import make_specialised

    return make_specialised(HopperConfig(), produce, own_consumer())


def with_consumer(consume: Answer) -> Callable[..., None]:
    """The host function gemm(a, b, c) with these consumers and the course's producer."""
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.specialised import make_specialised

    return make_specialised(HopperConfig(), own_producer(), consume)


def own_producer() -> Answer:
    from tutorlib.kernels.hopper.specialised import load_steps

    return load_steps


def own_consumer() -> Answer:
    from tutorlib.kernels.hopper.specialised import multiply_steps

    return multiply_steps


# Notebook 16 ----------------------------------------------------------------------------------------------------------


def elementwise(answer: Answer) -> Callable[..., None]:
    from tutorlib.kernels.fused.ampere import make_elementwise

    return make_elementwise(answer)


def with_bias_matrix(answer: Answer) -> Callable[..., None]:
    from cutlass import cute

    from tutorlib.kernels.fused.ampere import Fusion, make_fused
    from tutorlib.kernels.fused.ops import bias_gelu

    def as_matrix(bias: cute.Tensor, rows: int) -> cute.Tensor:
        return require_extents(answer(bias, rows), (rows, cute.size(bias)))

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
    from cutlass import cute

    from tutorlib.kernels.fused.ampere import make_gated

    def activate(tCrC: cute.Tensor) -> cute.Tensor:
        pairs, atoms, (neighbors, rest) = tCrC.shape
        return require_extents(answer(tCrC), (pairs, atoms, (neighbors, rest // 2)))

    return make_gated(activate)


def require_extents(got: Any, wanted: tuple[Any, ...]) -> Any:
    """The tensor that an answer returned. Raises ValueError unless its modes have the wanted sizes and profile."""
    from cutlass import cute

    if not isinstance(got, cute.Tensor):
        kind = "nothing" if got is None else f"a {type(got).__name__.removeprefix('_')}"
        raise ValueError(f"it returns {kind}; it should return a tensor of shape {wanted}")
    extents = tuple(cute.size(got, mode=[n]) for n in range(cute.rank(got)))
    if extents != tuple(map(cute.size, wanted)) or any(
        isinstance(mode, tuple) and not isinstance(mine, tuple) for mine, mode in zip(got.shape, wanted, strict=True)
    ):
        raise ValueError(f"it returns a tensor of shape {got.shape}; the shape should be {wanted}")
    return got
