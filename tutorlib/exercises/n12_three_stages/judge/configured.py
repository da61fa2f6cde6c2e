"""Answers that configure the GEMM of `kernels.ampere`."""

from dataclasses import dataclass

from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.part import HostFunction, Part, need_callable
from tutorlib.checking.values import attempt
from tutorlib.failure import Fail, Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.problems.wrong import count


@dataclass(frozen=True, kw_only=True)
class Configured(Part):
    """A function without arguments that returns a GemmConfig; the kernel has notebook 11's order."""

    def host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.ampere.block_order import in_eights
        from tutorlib.kernels.ampere.gemm import make_gemm
        from tutorlib.kernels.ampere.main_loops import multistage

        return make_gemm(need_callable(answer)(), multistage, in_eights)

    def look(self, answer: Answer, points: float) -> Verdict | None:
        config, fault = attempt(need_callable(answer), ())
        if fault:
            return wrong(fault.what)
        if not isinstance(config, GemmConfig):
            return wrong(Flaw(f"it returns {config!r}, not a GemmConfig.", Fail.GIVES(type=type(config).__name__)))
        if config.stages < 2:
            return wrong(Flaw(f"{count(config.stages, 'stage')}: the loop needs two or more.", Fail.CONFIG))
        return None
