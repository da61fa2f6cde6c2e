"""What the process of an answer needs of page 13's exercises."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import unwrap

from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.library_use import within_reach
from tutorlib.checking.part import HostFunction, Part, need_callable, require_jit
from tutorlib.checking.values import attempt
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.exercises.judges.p12 import OrderFlaw, little_saved
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models.memory import H100, blocks_per_sm
from tutorlib.problems.differences import count
from tutorlib.problems.problem import Shape
from tutorlib.simulate.ptx.report import Report

# Answers that configure the GEMM of `kernels.ampere`.

SIZE, SMS = 4096, 132  # of C, and of an H100
INTENSITY, WARPS, TILES, KIB, BUSY = 23, 8, 2, 48, 96  # what the five fastest of the page's table have, at least


@dataclass(frozen=True, kw_only=True)
class Configured(Part):
    """A function without arguments that returns a GemmConfig; the kernel has notebook 12's order."""

    def host(self, answer: Answer, simulated: Shape = ()) -> HostFunction:
        from tutorlib.kernels.ampere.gemm import in_eights, make_gemm
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
        if slow := self.too_slow(answer, config):
            return Verdict(points / 2, (slow, "The exercise's table has the five numbers."))
        return None

    def too_slow(self, answer: Answer, config: GemmConfig) -> str:
        """A number by which it is not among the fast ones, as a sentence, or ""."""
        compiled = compile_cute(self.host(answer), [TensorSpec((SIZE, SIZE), "bf16")] * 3, "sm_90a")
        if compiled.spill_bytes:
            return ""  # the check says so
        (m, n, k), (down, across), ahead = config.tile, config.warps, config.stages - 1
        rows, columns = config.grid(SIZE, SIZE)
        blocks = blocks_per_sm(H100, config.smem_bytes, compiled.registers, config.threads)
        for has, least, of in (
            (m * n / (m * (across + 1) + n * (down + 1)), INTENSITY, "FLOP for each byte of shared-memory traffic"),
            (blocks * config.threads // 32, WARPS, "warps on an SM"),
            (blocks * ahead, TILES, "K tiles in flight on an SM"),
            (blocks * ahead * (m + n) * k * 2 / 1024, KIB, "KiB in flight on an SM"),
            (100 * SIZE**2 / (-(-rows * columns // SMS) * SMS * m * n), BUSY, f"% by 12.6's count at {SIZE}³"),
        ):
            if has < least:
                what = f"it fits, and has {int(has)} {of}; the five fastest have {least} or more."
                return Flaw(what, Fail.SLOW)
        return ""


# 13.4 and 13.6: kernels that take their configuration and their order of blocks from earlier exercises


class WholeFlaw(FailureKind):
    """Omissions of a kernel whose result is right."""

    RASTER = "blocks in raster order"
    IN_FRONT = "loads in front"
    BRANCH = "branch in a step"
    NARROW = "narrow copies"


@dataclass(frozen=True, kw_only=True)
class InGroups(Part):
    """A host function whose code names the reader's `in_groups`."""

    def look(self, answer: Answer, points: float) -> Verdict | None:
        require_jit(answer)
        raster = in_raster(answer)
        return Verdict(points - 1, (raster,)) if raster else None


def names_own(answer: Answer, name: str) -> bool:
    """Whether the answer's code, or that of the reader's functions that it calls, names this function beside it."""
    own = unwrap(answer).__globals__.get(name)
    return callable(own) and any(own is value for value in within_reach(answer))


def in_raster(answer: Answer) -> str:
    """That the answer does without `in_groups`, or that this reads nearly as much as raster order; or ""."""
    if not names_own(answer, "in_groups"):
        return Flaw("it does not take the order of its blocks from the in_groups of 12.4.", WholeFlaw.RASTER)
    try:
        wasteful = little_saved(unwrap(answer).__globals__["in_groups"])
    except CompileFailed:
        return ""  # the kernel does not compile either
    return Flaw(f"with in_groups, {wasteful} Bring 12.4's.", OrderFlaw.TRAFFIC) if wasteful else ""


STEP = {"mma.sync": "M", "cp.async.c": "C", "bar.sync": "|", "bra": "b"}


def between_mmas(reports: Sequence[Report]) -> str | None:
    """That the code of the loop, what a warp issues more than once, has not all cp.async between mma.sync and barrier,
    or has a branch there.
    """
    for report in reports:
        loop = (one.opcode for one in report.issued if one.warps > report.warps)
        code = "".join(letter for opcode in loop for begins, letter in STEP.items() if opcode.startswith(begins))
        step = code[code.find("M") : code.rfind("|")]
        if "b" in step:
            return Flaw("a step has a branch between its first mma.sync and its barrier.", WholeFlaw.BRANCH)
        if not code.count("C") == step.count("C") > 0:
            what = "a step does not issue all of its cp.async between the first K block's mma.sync and its barrier."
            return Flaw(what, WholeFlaw.IN_FRONT)
    return None


# 13.6

WIDEST = 16  # bytes of a copy
COPIED = re.compile(r"cp\.async\.c[ag]\.shared\.global\S* \[[^]]*\], \[[^]]*\], (\d+)")


def narrow_copies(compiled: Compiled) -> str:
    """That cp.async copies fewer bytes than it could, or ""."""
    least = min(map(int, COPIED.findall(compiled.ptx)), default=WIDEST)
    if least == WIDEST:
        return ""
    what = f"it has cp.async of {least} bytes; copies of {WIDEST} need {WIDEST // least} times fewer instructions."
    return Flaw(what, WholeFlaw.NARROW)
