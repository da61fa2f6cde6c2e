"""Answers that are a part of notebook 13's GEMM."""

from dataclasses import dataclass
from typing import Literal

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer
from tutorlib.checking.part import HostFunction, Part, host_by_shape, need_callable
from tutorlib.problems.problem import Shape

FirstPartName = Literal["ring_layout", "boxes", "fragments", "multiply", "barriers", "main_loop", "epilogue"]
JIT = ("barriers", "main_loop", "epilogue")  # those that the kernel calls as functions of the DSL


@dataclass(frozen=True, kw_only=True)
class FirstPart(Part):
    """A part of the GEMM of `kernels.hopper.first`.

    small: the stages and the columns of a K tile that are simulated, by shape.
    """

    name: FirstPartName
    small: tuple[tuple[Shape, tuple[int, int]], ...] = ()

    def host(self, answer: Answer) -> HostFunction:
        return self.gemm(answer)

    def simulated_host(self, answer: Answer) -> HostFunction:
        small = {shape: self.gemm(answer, *ring) for shape, ring in self.small}
        return host_by_shape(small) if small else self.host(answer)

    def gemm(self, answer: Answer, *ring: int) -> HostFunction:
        from tutorlib.kernels.hopper.first import Parts, make_first_gemm

        need_callable(answer)
        if self.name in JIT:
            require_jit(answer)
        return make_first_gemm(Parts(**{self.name: answer}), *ring)
