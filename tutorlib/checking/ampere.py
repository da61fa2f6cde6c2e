"""Answers that replace one part of the GEMM in `kernels.ampere`."""

from dataclasses import dataclass
from typing import Literal

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer
from tutorlib.checking.library_use import InModule
from tutorlib.checking.part import HostFunction, Part, host_by_shape, need_callable
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models.l2 import grouped, raster
from tutorlib.problems.problem import Shape

ONE_BUFFER = GemmConfig()
AMPERE_TIMED = ("80", "90")  # the GPUs that the published ladder and this one are timed on
COURSE_LOOPS = {
    "the course's main loop": InModule("tutorlib.kernels.ampere.main_loops", "single_buffer"),
    "the course's multistage loop": InModule("tutorlib.kernels.ampere.main_loops", "multistage"),
    "the loop with its loads spread": InModule("tutorlib.kernels.ampere.main_loops", "loads_spread"),
}
COURSE_SHARES = {
    f"{name} of the course": InModule("tutorlib.kernels.ampere.thread_share", name)
    for name in ("Steps", "GlobalToShared", "Accumulators", "Operand", "make_operands")
}
COURSE_KERNEL = {"make_gemm": InModule("tutorlib.kernels.ampere.gemm", "make_gemm")}

PartName = Literal["smem", "g2s", "mma", "operands", "copies", "steps", "columns", "main_loop", "order", "epilogue"]


@dataclass(frozen=True, kw_only=True)
class AmperePart(Part):
    """name: of the part. grouped: whether blocks take tiles in groups, not row after row. config: of the kernel around
    it. small: of those that are simulated in its place, by shape.

    All other parts are the course's: its main loop for this number of stages, its epilogue.
    """

    name: PartName
    grouped: bool = False
    config: GemmConfig = ONE_BUFFER
    small: tuple[tuple[Shape, GemmConfig], ...] = ()

    def host(self, answer: Answer) -> HostFunction:
        return self.gemm(answer, self.config)

    def simulated_host(self, answer: Answer) -> HostFunction:
        small = {shape: self.gemm(answer, config) for shape, config in self.small}
        return host_by_shape(small) if small else self.host(answer)

    def gemm(self, answer: Answer, config: GemmConfig) -> HostFunction:
        from tutorlib.kernels.ampere.gemm import make_gemm
        from tutorlib.kernels.ampere.main_loops import multistage, single_buffer

        need_callable(answer)
        if self.name == "main_loop":
            require_jit(answer)
        loop = single_buffer if config.stages == 1 else multistage
        return make_gemm(config, **{"main_loop": loop, "order": grouped if self.grouped else raster, self.name: answer})
