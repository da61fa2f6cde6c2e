"""Problems on random int32, of which every bit counts."""

from collections.abc import Callable
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


def on_integers(
    name: str, dims: str, inputs: tuple[str, ...], reference: Callable[..., "Tensor"], out: str = ""
) -> Problem:
    return OnIntegers(
        name=name,
        dims=dims,
        inputs=tuple(Operand(one, dims, "int32") for one in inputs),
        output=Operand("y", out or dims, "int32"),
        reference=reference,
        bound=None,
        baseline=lambda y, *tensors: y.copy_(reference(*tensors)),
        baseline_name="torch",
    )
