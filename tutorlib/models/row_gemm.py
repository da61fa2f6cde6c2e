"""A GEMM with the requirements of the course's kernels, which counts its calls: for gradients built of it."""

from typing import TYPE_CHECKING

from tutorlib.failure import FailureKind, Flaw

if TYPE_CHECKING:
    from torch import Tensor


class NotRow(FailureKind):
    """Why gemm does not take a matrix."""

    VIEW = "transposed view"


class NotRows(ValueError):
    """Matrices that the kernels do not take. One line."""


class RowGemm:
    """gemm(a, b) = factor · A (M, K) · Bᵀ with B (N, K), rows contiguous. Raises NotRows. done: M·N·K of each call."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor
        self.done: list[int] = []

    def __repr__(self) -> str:
        return "gemm"

    def __call__(self, a: "Tensor", b: "Tensor") -> "Tensor":
        for name, matrix in (("a", a), ("b", b)):
            if matrix.ndim != 2:
                raise NotRows(
                    f"{name} is {tuple(matrix.shape)}: gemm takes matrices, and all but the last mode are rows"
                )
            if not matrix.is_contiguous():
                what = f"{name} {tuple(matrix.shape)} is a transposed view; gemm needs contiguous rows"
                raise NotRows(Flaw(what, NotRow.VIEW))
        if a.shape[1] != b.shape[1]:
            raise NotRows(f"a is {tuple(a.shape)} and b {tuple(b.shape)}: the last mode of both is what is summed over")
        self.done.append(a.shape[0] * b.shape[0] * a.shape[1])
        return self.factor * (a @ b.mT)
