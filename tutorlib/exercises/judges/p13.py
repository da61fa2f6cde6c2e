"""The GEMM of `kernels.hopper.first` around an answer that is one of its parts."""

from typing import Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.part import Filled, HostFunction
from tutorlib.failure import FailureKind, Flaw

BITS = {64: 3, 32: 2, 16: 1}  # that the swizzle of a row of so many bf16 moves: cuda.h, CU_TENSOR_MAP_SWIZZLE_*


class RingFlaw(FailureKind):
    NOT_SWIZZLED = "not swizzled"


def first_gemm(filled: Filled, *, ring: tuple[int, ...] = ()) -> HostFunction:
    """ring: the stages and the columns of a K tile."""
    from tutorlib.kernels.hopper.first import Parts, make_first_gemm

    return make_first_gemm(Parts(**filled), *ring)


def with_ring_layout(filled: Filled, *, ring: tuple[int, ...] = ()) -> HostFunction:
    """The one whose layout needs the swizzle of its rows' width: with another, or none, it is right, and slower."""

    def swizzled(rows: int, k: int, stages: int) -> Any:
        from cutlass import cute

        got = filled["ring_layout"](rows, k, stages)
        swizzle = got.inner if isinstance(got, cute.ComposedLayout) else None
        if swizzle is None or (swizzle.num_bits, swizzle.num_base, swizzle.num_shift) != (BITS[k], 4, 3):
            what = f"ring_layout({rows}, {k}, {stages}) is {got}; rows of {2 * k} bytes have Swizzle({BITS[k]}, 4, 3)."
            raise WrongKind(Flaw(what, RingFlaw.NOT_SWIZZLED))  # from within the compiler
        return got

    return first_gemm({"ring_layout": swizzled}, ring=ring)
