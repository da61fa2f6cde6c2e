"""Problems on random int32, of which every bit counts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True)
class OnIntegers(Problem):
    """Inputs of random int32, of which every bit counts."""

    def random(self, shape: Shape, generator: "Generator") -> "tuple[Tensor, ...]":
        import torch

        def draw(op: Operand) -> "Tensor":
            size = self.shape_of(op, shape)
            return torch.randint(-(2**31), 2**31, size, generator=generator, device=generator.device).to(torch.int32)

        return tuple(map(draw, self.inputs))
