"""Answers that are one of the two roles of a Hopper GEMM."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer
from tutorlib.checking.part import HostFunction, Part, host_by_shape
from tutorlib.exercises.n14_beat_cublas.judge.slots import Settings
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from tutorlib.kernels.hopper.config import HopperConfig


@dataclass(frozen=True, kw_only=True)
class Role(Part):
    """A role's loop beside the course's other one. small: the configurations that are simulated, by shape."""

    role: Literal["produce", "consume"]
    small: tuple[tuple[Shape, Settings], ...]

    def host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.hopper.config import HopperConfig

        return self.gemm(answer, HopperConfig())

    def simulated_host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.hopper.config import HopperConfig

        return host_by_shape({shape: self.gemm(answer, HopperConfig(**settings)) for shape, settings in self.small})

    def gemm(self, answer: Answer, config: "HopperConfig") -> HostFunction:
        from tutorlib.kernels.hopper.specialized import load_steps, make_specialized, multiply_steps

        require_jit(answer)
        loops = {"produce": load_steps, "consume": multiply_steps, self.role: answer}
        return make_specialized(config, loops["produce"], loops["consume"])
