"""Mistakes that are recognized by the values of the result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutorlib.problems.differences import find_difference
from tutorlib.problems.problem import Problem

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class WrongResult:
    """A wrong result.

    says: the mistake, as a sentence for the reader. result: takes the inputs in float64; gives the result of a kernel
    with this mistake, or None where it is the right one.
    """

    says: str
    result: "Callable[..., Tensor | None]"

    def explains(
        self, problem: Problem, inputs: "tuple[Tensor, ...]", seen: "tuple[Tensor, Tensor]", allowed: "Tensor"
    ) -> bool:
        """Whether a kernel with this mistake computes these values, within the error that is allowed to it.

        seen: the output's values, and where there are none. allowed: the error allowed to the right result.
        """
        exact = tuple(x.double() for x in inputs)
        if (result := self.result(*exact)) is None:
            return False
        got, unwritten = seen
        lost = ~result.isfinite()  # too large for a dtype on the way
        if not lost.equal(~got.isfinite()):
            return False
        own = problem.bound(result, exact, problem.output.dtype) if problem.bound else allowed
        return not find_difference(
            "", got.masked_fill(lost, 0), unwritten, result.masked_fill(lost, 0), own.masked_fill(lost, 0)
        )


def mistakes_along_k(depth: int, step: int, mma: str) -> tuple[WrongResult, ...]:
    """Mistakes of a GEMM's walk along K in steps. mma: the name of the function that multiplies two tiles."""

    def whole_steps(a: "Tensor", b: "Tensor") -> "Tensor | None":
        return a[:, : depth // step * step] @ b[:, : depth // step * step].mT if depth % step else None

    def last_step(a: "Tensor", b: "Tensor") -> "Tensor | None":
        first = (depth - 1) // step * step
        return a[:, first:] @ b[:, first:].mT if first else None

    def first_step(a: "Tensor", b: "Tensor") -> "Tensor | None":
        return a[:, :step] @ b[:, :step].mT if depth > step else None

    def but_the_first(a: "Tensor", b: "Tensor") -> "Tensor | None":
        return a[:, step:] @ b[:, step:].mT

    def added_twice(a: "Tensor", b: "Tensor") -> "Tensor | None":
        total = a.new_zeros(a.shape[0], b.shape[0])
        for first in range(0, depth, step):
            total = 2 * total + a[:, first : first + step] @ b[:, first : first + step].mT
        return total if depth > step else None

    return (
        WrongResult(f"{mma} adds to the accumulator that it is given: assign its result, with no +=.", added_twice),
        WrongResult("The last step along K is missing, the one that is only partly filled.", whole_steps),
        WrongResult(
            f"That is the last step's product alone: give {mma} the accumulator, and it adds to it.", last_step
        ),
        WrongResult("That is the first step's product alone.", first_step),
        WrongResult("The first step along K is missing.", but_the_first),
    )
