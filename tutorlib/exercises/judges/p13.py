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

SIZES, SMS = ((4096, 4096), (3072, 3072), (2048, 3072)), 132  # of C, and of an H100
INTENSITY, WARPS, TILES, KIB, BUSY = 20, 8, 2, 48, 0.85  # below any, a configuration is ruled out
MOST = GemmConfig((128, 256, 32), (2, 4), 4)  # where it passes, 23 FLOP for each byte are asked for


@dataclass(frozen=True, kw_only=True)
class Configured(Part):
    """A function of C's rows and columns that returns a GemmConfig; the kernel has notebook 12's order."""

    def host(self, answer: Answer, simulated: Shape = ()) -> HostFunction:
        from tutorlib.kernels.ampere.gemm import in_eights, make_gemm
        from tutorlib.kernels.ampere.main_loops import multistage

        return make_gemm(need_callable(answer)(*SIZES[0]), multistage, in_eights)

    def look(self, answer: Answer, points: float) -> Verdict | None:
        for size in SIZES:
            config, fault = attempt(need_callable(answer), size)
            if fault:
                return wrong(fault.what)
            if not isinstance(config, GemmConfig):
                return wrong(Flaw(f"it returns {config!r}, not a GemmConfig.", Fail.GIVES(type=type(config).__name__)))
            if config.stages < 2:
                return wrong(Flaw(f"{count(config.stages, 'stage')}: the loop needs two or more.", Fail.CONFIG))
            if slow := too_slow(config, *size):
                return Verdict(points / 2, (slow, "The table above the exercise has the five numbers."))
        return None


def intensity(config: GemmConfig) -> float:
    """FLOP for each byte of shared-memory traffic."""
    (m, n, _), (down, across) = config.tile, config.warps
    return m * n / (m * (across + 1) + n * (down + 1))


def busy(config: GemmConfig, rows: int, columns: int) -> float:
    """The share of the SMs' time that a C of this size fills."""
    down, across = config.grid(rows, columns)
    return rows * columns / (-(-down * across // SMS) * SMS * config.tile[0] * config.tile[1])


def too_slow(config: GemmConfig, rows: int, columns: int) -> str:
    """A number that rules it out for a C of this size, as a sentence; "" also where it spills: the check says that."""
    from tutorlib.kernels.ampere.gemm import in_eights, make_gemm
    from tutorlib.kernels.ampere.main_loops import multistage

    host = make_gemm(config, multistage, in_eights)
    compiled = compile_cute(host, [TensorSpec(SIZES[0], "bf16")] * 3, "sm_90a")
    if compiled.spill_bytes:
        return ""
    blocks = blocks_per_sm(H100, config.smem_bytes, compiled.registers, config.threads)
    in_flight = blocks * (config.stages - 1)
    enough = busy(MOST, rows, columns) >= BUSY
    for has, least, of in (
        (blocks * config.threads // 32, WARPS, "warps on an SM"),
        (in_flight, TILES, "K tiles in flight on an SM"),
        (in_flight * config.smem_bytes / config.stages / 1024, KIB, "KiB in flight on an SM"),
        (busy(config, rows, columns), BUSY, "of the SMs with work"),
        (intensity(config), intensity(MOST) // 1 if enough else INTENSITY, "FLOP for each byte"),
    ):
        if has < least:
            what = f"for a C of {rows}×{columns} it fits, and has {has:.3g} {of}; {least:g} or more are needed."
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
        return Flaw("it does not take the order of its blocks from the in_groups of 12.1.", WholeFlaw.RASTER)
    try:
        wasteful = little_saved(unwrap(answer).__globals__["in_groups"])
    except CompileFailed:
        return ""  # the kernel does not compile either
    return Flaw(f"with in_groups, {wasteful} Bring 12.1's.", OrderFlaw.TRAFFIC) if wasteful else ""


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
