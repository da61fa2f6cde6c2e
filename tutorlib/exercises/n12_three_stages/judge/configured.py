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

SIZE, SMS = 4096, 132  # of C, and of an H100
INTENSITY, WARPS, TILES, KIB, BUSY = 22, 8, 2, 48, 95  # what the five fastest of the page's table have, at least


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
            return Verdict(points / 2, (slow, "The table above has four of these numbers; 11.6 is the fifth."))
        return None

    def too_slow(self, answer: Answer, config: GemmConfig) -> str:
        """Where no GPU times it: a number by which it is not among the fast ones, as a sentence, or ""."""
        compiled = compile_cute(self.host(answer), [TensorSpec((SIZE, SIZE), "bf16")] * 3, "sm_90a")
        if compiled.spill_bytes:
            return ""  # the check says so
        (m, n, k), (down, across), ahead = config.tile, config.warps, config.stages - 1
        rows, columns = config.grid(SIZE, SIZE)
        blocks = min(four_limits(H100, config.smem_bytes, compiled.registers, config.threads))
        for has, least, of in (
            (m * n / (m * (across + 1) + n * (down + 1)), INTENSITY, "FLOP for each byte of shared-memory traffic"),
            (blocks * config.threads // 32, WARPS, "warps on an SM"),
            (blocks * ahead, TILES, "K tiles in flight on an SM"),
            (blocks * ahead * (m + n) * k * 2 / 1024, KIB, "KiB in flight on an SM"),
            (100 * SIZE**2 / (-(-rows * columns // SMS) * SMS * m * n), BUSY, f"% by 11.6's count at {SIZE}³"),
        ):
            if has < least:
                what = f"it fits, and has {int(has)} {of}; the five fastest have {least} or more."
                return Flaw(what, Fail.SLOW)
        return ""
