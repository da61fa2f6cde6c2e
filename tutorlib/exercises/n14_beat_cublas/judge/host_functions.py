"""The host function gemm(a, b, c) around an answer that is one of its two roles."""

from collections.abc import Callable

from tutorlib.checking.exercise import Answer


def with_producer(produce: Answer) -> Callable[..., None]:
    """The host function gemm(a, b, c) with this producer and the course's consumers."""
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.specialized import make_specialized

    return make_specialized(HopperConfig(), produce, own_consumer())


def with_consumer(consume: Answer) -> Callable[..., None]:
    """The host function gemm(a, b, c) with these consumers and the course's producer."""
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.specialized import make_specialized

    return make_specialized(HopperConfig(), own_producer(), consume)


def own_producer() -> Answer:
    from tutorlib.kernels.hopper.specialized import load_steps

    return load_steps


def own_consumer() -> Answer:
    from tutorlib.kernels.hopper.specialized import multiply_steps

    return multiply_steps
