"""The host function gemm(a, b, c) around an answer that is its main loop."""

from collections.abc import Callable

from tutorlib.checking.exercise import Answer


def with_loop(answer: Answer) -> Callable[..., None]:
    """The course's kernel with this main loop."""
    from tutorlib.kernels.hopper.first import Parts, make_first_gemm

    return make_first_gemm(Parts(main_loop=answer))


def with_one_stage(answer: Answer) -> Callable[..., None]:
    """The same for a loop that uses stage 0 alone. The other stage makes room for a tile of C."""
    from tutorlib.kernels.hopper.first import Parts, make_first_gemm

    return make_first_gemm(Parts(main_loop=answer), stages=2)
