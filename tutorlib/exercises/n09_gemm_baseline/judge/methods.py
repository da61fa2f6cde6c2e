"""Answers that become methods of the kernel: a load, a fetch, a multiplication."""

from dataclasses import dataclass
from typing import Literal

from tutorlib.checking.ampere import AmperePart, PartName
from tutorlib.checking.exercise import Answer
from tutorlib.checking.part import HostFunction, need_callable
from tutorlib.kernels.ampere.config import GemmConfig

TWO_BUFFERS = GemmConfig(stages=2)


@dataclass(frozen=True, kw_only=True)
class Method(AmperePart):
    """A method of the kernel's classes, in a kernel with two buffers that fetches one K block ahead.

    name: of the class among the kernel's parts.
    """

    name: PartName = "steps"
    method: Literal["load", "fetch", "multiply"]
    config: GemmConfig = TWO_BUFFERS

    def gemm(self, answer: Answer, config: GemmConfig) -> HostFunction:
        from tutorlib.kernels.ampere.thread_share import GlobalToShared, Steps

        base = {"copies": GlobalToShared, "steps": Steps}[self.name]
        return super().gemm(type(base.__name__, (base,), {self.method: need_callable(answer)}), config)
