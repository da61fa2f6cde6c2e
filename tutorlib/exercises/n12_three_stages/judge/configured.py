"""Answers that configure the GEMM of `kernels.ampere`."""

from dataclasses import dataclass

from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.part import HostFunction, Part, need_callable
from tutorlib.checking.values import attempt
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.exercises.n12_three_stages.judge.limits import four_limits
from tutorlib.failure import Fail, Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC
from tutorlib.models.occupancy import H100
from tutorlib.problems.wrong import count

INTENSITY, WARPS, TILES, KIB = 64, 8, 2, 48  # what the fast ones of the page's table have, at least


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
        if device.why_not(MMA_SYNC) and (slow := self.too_slow(answer, config)):
            return Verdict(points / 2, (slow, "Your table has these four numbers for every configuration of the map."))
        return None

    def too_slow(self, answer: Answer, config: GemmConfig) -> str:
        """Where no GPU times it: a number by which it is not among the fast ones, as a sentence, or ""."""
        compiled = compile_cute(self.host(answer), [TensorSpec((4096, 4096), "bf16")] * 3, "sm_90a")
        if compiled.spill_bytes:
            return ""  # the check says so
        (m, n, k), ahead = config.tile, config.stages - 1
        blocks = min(four_limits(H100, config.smem_bytes, compiled.registers, config.threads))
        for has, least, of in (
            (m * n / (m + n), INTENSITY, "operations for each byte that a tile loads"),
            (blocks * config.threads // 32, WARPS, "warps on an SM"),
            (blocks * ahead, TILES, "K tiles in flight on an SM"),
            (blocks * ahead * (m + n) * k * 2 / 1024, KIB, "KiB in flight on an SM"),
        ):
            if has < least:
                what = f"it fits, and has {has:.0f} {of}; the fast ones have {least} or more."
                return Flaw(what, Fail.SLOW)
        return ""
