"""How answers of page 13 alone are judged: the part of its room that the sandbox shows."""

from dataclasses import dataclass
from typing import Any, Literal

from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.part import HostFunction, Part, host_by_shape, need_callable, require_jit
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.problem import Shape

# Answers that are a part of notebook 13's GEMM.


FirstPartName = Literal["ring_layout", "boxes", "fragments", "multiply", "barriers", "main_loop", "epilogue"]
JIT = ("barriers", "main_loop", "epilogue")  # those that the kernel calls as functions of the DSL


BITS = {
    64: 3,
    32: 2,
    16: 1,
}  # that the swizzle of a row of so many bf16 moves: CUDA driver API, CU_TENSOR_MAP_SWIZZLE_*


class RingFlaw(FailureKind):
    NOT_SWIZZLED = "not swizzled"


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


@dataclass(frozen=True, kw_only=True)
class RingLayout(FirstPart):
    """A layout with the swizzle of its rows' width. With another one, or none, the kernel is right, and slower."""

    name: FirstPartName = "ring_layout"

    def gemm(self, answer: Answer, *ring: int) -> HostFunction:
        def swizzled(rows: int, k: int, stages: int) -> Any:
            from cutlass import cute

            got = answer(rows, k, stages)
            swizzle = got.inner if isinstance(got, cute.ComposedLayout) else None
            if swizzle is None or (swizzle.num_bits, swizzle.num_base, swizzle.num_shift) != (BITS[k], 4, 3):
                what = (
                    f"ring_layout({rows}, {k}, {stages}) is {got}; rows of {2 * k} bytes have Swizzle({BITS[k]}, 4, 3)."
                )
                raise WrongKind(Flaw(what, RingFlaw.NOT_SWIZZLED))  # from within the compiler
            return got

        need_callable(answer)
        return super().gemm(swizzled, *ring)
