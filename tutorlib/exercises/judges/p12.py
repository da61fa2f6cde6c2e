"""What the process of an answer needs of page 12's exercises."""

import re
from dataclasses import dataclass
from inspect import unwrap
from typing import TYPE_CHECKING, Any
from unittest import mock

from tutorlib.checking.answer import place_in
from tutorlib.checking.exercise import Answer, Verdict, WrongKind, is_placeholder, wrong
from tutorlib.checking.part import HostFunction, Part, need_callable, require_jit
from tutorlib.checking.values import attempt
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.compile_calls import (
    CompiledBefore,
    Requested,
    WithoutCompile,
    compile_requests,
    tensor_type,
)
from tutorlib.dsl.functions import is_jit
from tutorlib.exercises.judges.p11 import OrderFlaw, in_a_kernel, little_saved
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC
from tutorlib.models.l2 import Order
from tutorlib.models.memory import H100, SM
from tutorlib.problems.catalogue import gemm, gemm_m_major
from tutorlib.problems.differences import by, count
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Work

if TYPE_CHECKING:
    from torch import Tensor


# The four limits of the blocks on an SM, each by itself.


def four_limits(sm: SM, smem_bytes: int, registers: int, threads: int) -> tuple[int, int, int, int]:
    """Blocks by shared memory, registers, threads, and blocks."""
    warps = sm.registers // sm.partitions // (-(-32 * registers // sm.register_unit) * sm.register_unit) * sm.partitions
    by_registers = warps // (threads // 32)
    return sm.shared // (smem_bytes + sm.reserved), by_registers, sm.threads // threads, sm.blocks


# Answers that configure the GEMM of `kernels.ampere`.

SIZE, SMS = 4096, 132  # of C, and of an H100
INTENSITY, WARPS, TILES, KIB, BUSY = 22, 8, 2, 48, 95  # what the five fastest of the page's table have, at least


@dataclass(frozen=True, kw_only=True)
class Configured(Part):
    """A function without arguments that returns a GemmConfig; the kernel has notebook 11's order."""

    def host(self, answer: Answer) -> HostFunction:
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


# 12.4 and 12.6: the configuration and the order of blocks that the reader's kernel takes from earlier exercises.

SMALL = GemmConfig((32, 32, 32), (1, 1), 2)  # compiles fast; no tuned() returns it
TALL = (1152, 64, 32)  # 36×2 tiles of SMALL: more rows than L2 needs groups for


class WholeFlaw(FailureKind):
    """Omissions of a kernel whose result is right."""

    RASTER = "blocks in raster order"
    NOT_TUNED = "not the tuned configuration"


@dataclass(frozen=True, kw_only=True)
class OfTuned(Part):
    """A host function with the configuration of the `tuned()` beside it, whatever that is, and the order of the
    `in_groups`.
    """

    def look(self, answer: Answer, points: float) -> Verdict | None:
        require_jit(answer)
        names: dict[str, Any] = unwrap(answer).__globals__
        tuned = names.get("tuned")
        config = tuned() if callable(tuned) else None
        if not isinstance(config, GemmConfig):
            what = "there is no tuned() of 12.3 that it could take its configuration from."
            return wrong(Flaw(what, WholeFlaw.NOT_TUNED))
        if raster := in_raster(names):
            return Verdict(points - 1, (raster,))
        kept = {name: SMALL for name, value in names.items() if isinstance(value, GemmConfig) and value == config}
        with mock.patch.dict(names, tuned=lambda: SMALL, **kept):
            return with_small(answer, points)


def with_small(answer: Answer, points: float) -> Verdict | None:
    """The flaw of the kernel when tuned() returns SMALL, or None."""
    compiled = compile_cute(answer, [TensorSpec((256, 256), "bf16")] * 3)
    if (compiled.threads, compiled.smem_bytes) != (SMALL.threads, SMALL.smem_bytes):
        what = (
            f"where tuned() returns {SMALL}, its blocks should have {SMALL.threads} threads and {SMALL.smem_bytes:,} "
            f"bytes of shared memory; they have {compiled.threads} and {compiled.smem_bytes:,}."
        )
        return Verdict(points - 1, (Flaw(what, WholeFlaw.NOT_TUNED), "Does my_gemm call tuned()?"))
    raster = out_of_order(answer, gemm("bf16"), TALL, unwrap(answer).__globals__["in_groups"])
    return Verdict(points - 1, (raster,)) if raster else None


def in_raster(names: dict[str, Any]) -> str:
    """Whether `in_groups` is missing, or reads nearly as much as raster order, as a sentence; or ""."""
    if not callable(order := names.get("in_groups")):
        return Flaw("there is no in_groups of 11.4 that it could take the order of its blocks from.", WholeFlaw.RASTER)
    try:
        wasteful = little_saved(order)
    except CompileFailed:
        return ""  # the kernel does not compile either
    return Flaw(f"with in_groups, {wasteful} Bring 11.4's.", OrderFlaw.TRAFFIC) if wasteful else ""


def out_of_order(host: HostFunction, problem: Problem, shape: Shape, order: Order) -> str:
    """A tile of C that another block stores than by this order, as a sentence, or "".

    A kernel of fewer blocks than tiles takes them in turn.
    """
    from tutorlib.measuring.simulated_launchers import simulated_cute

    simulator = simulated_cute(host, problem)
    simulator.on(Work(problem, shape, "cpu"))()
    report = simulator.reports[-1]
    storers = report.storers[problem.output.name].reshape(shape[:2])
    m, n = (int((line != line[0]).argmax()) or len(line) for line in (storers[:, 0], storers[0]))  # of a tile
    blocks = storers[::m, ::n]
    for number, tile in enumerate(in_a_kernel(order, *blocks.shape)):
        if (block := int(blocks[tile])) != number % report.blocks:
            what = f"of {blocks.shape[0]}×{blocks.shape[1]} tiles, its block {block} computes {tile}; by in_groups "
            return Flaw(f"{what}block {number % report.blocks} does.", WholeFlaw.RASTER)
    return ""


# 12.6: a Python function of torch tensors a, b and c, which wraps them, compiles once for each shape, and launches.

PROBLEM = gemm_m_major("bf16")
TRIED = (768, 1280, 448)  # as no reader has compiled for
OTHERS = ((896, 1280, 448), (768, 1792, 448), (768, 1280, 576), (1280, 768, 448))  # the last exchanges M and N
TALL_MATRIX = (4608, 512, 64)  # more rows of tiles than L2 needs groups for
WIDEST = 16  # bytes of a copy
COPIED = re.compile(r"cp\.async\.c[ag]\.shared\.global\S* \[[^]]*\], \[[^]]*\], (\d+)")


class HostFlaw(FailureKind):
    """What is wrong with a host function of torch tensors. TENSORS: in what [how: "layout" or "alignment"]."""

    NOT_COMPILED = "not compiled"
    TENSORS = "compiled for other tensors"
    NOT_CALLED = "not called"
    OTHER_TENSORS = "other tensors"
    ANEW = "compiled anew"
    NARROW = "narrow copies"
    BY_TORCH = "written by torch"


@dataclass(frozen=True, kw_only=True)
class TorchHost(Part):
    """A function of torch tensors a, b and c that launches what it compiles for them."""

    def host(self, answer: Answer) -> HostFunction:
        """The @cute.jit function that the answer compiles, with what it compiles it for beside the tensors."""
        from cutlass import cute

        with compile_requests() as requests:
            if flaw := first_flaw(need_callable(answer), TRIED, requests):
                raise WrongKind(flaw)
        host, constants, named = requests[-1].host, requests[-1].arguments[3:], requests[-1].named

        @cute.jit
        def with_constants(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
            host(a, b, c, *constants, **named)

        return with_constants if constants or named else host

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Calls it as a program would: one shape twice, in other memory, then other shapes, then the first again."""
        need_callable(answer)
        shapes = (TRIED, TRIED, *OTHERS, TRIED)
        with compile_requests() as requests:
            for shape in shapes:
                if flaw := first_flaw(answer, shape, requests):
                    return wrong(flaw)
        if len(requests) > 1 + len(OTHERS):
            what = (
                f"right, but {len(shapes)} calls with {1 + len(OTHERS)} shapes compile {len(requests)} times. Keep "
                "what cute.compile returns, by shape."
            )
            return Verdict(points - 1, (Flaw(what, HostFlaw.ANEW),))
        names = unwrap(answer).__globals__
        raster = in_raster(names) or out_of_order(self.host(answer), PROBLEM, TALL_MATRIX, names["in_groups"])
        return Verdict(points - 1, (raster,)) if raster else None


def narrow_copies(compiled: Compiled) -> str:
    """That cp.async copies fewer bytes than it could, or ""."""
    least = min(map(int, COPIED.findall(compiled.ptx)), default=WIDEST)
    if least == WIDEST:
        return ""
    what = f"it has cp.async of {least} bytes; copies of {WIDEST} need {WIDEST // least} times fewer instructions."
    return Flaw(what, HostFlaw.NARROW)


def first_flaw(answer: Answer, shape: Shape, requests: list[Requested]) -> str:
    """The first flaw in what the answer compiles and calls for tensors of this shape, or "".

    requests: the list that the surrounding `compile_requests` fills.
    """
    called = f"called at {by(shape)}, it"
    tensors = tensors_of(shape)
    versions = [tensor._version for tensor in tensors]
    before = [len(one.calls or ()) for one in requests]
    try:
        answer(*tensors)
    except WithoutCompile as error:
        what = f"it calls {error} itself. Compile it with cute.compile, keep the result, and call that."
        return Flaw(what, HostFlaw.NOT_COMPILED)
    except CompiledBefore:
        what = f"at {by(shape)} it has kept a kernel from before. Run its cell once more, then this check."
        return Flaw(what, HostFlaw.TENSORS)
    except Exception as error:
        if isinstance(error, NotImplementedError) and is_placeholder(error):
            raise
        said = str(error).strip().partition("\n")[0]
        what = f"{called} raises {type(error).__name__}: {said}{place_in(answer, error)}."
        return Flaw(what, Fail.RAISED(error=type(error).__name__))
    for name, tensor, version in zip("abc", tensors, versions, strict=True):
        if tensor._version != version:
            what = f"{called} writes to {name} with torch, too; the kernel alone should write, to c."
            return Flaw(what, HostFlaw.BY_TORCH)
    before += [0] * (len(requests) - len(before))
    calls = [(one, call) for one, n in zip(requests, before, strict=True) for call in (one.calls or [])[n:]]
    if len(calls) != 1:
        what = "compiles, and does not call the result" if not calls else f"launches {len(calls)} times"
        return Flaw(f"{called} {what}; it should launch once.", HostFlaw.NOT_CALLED)
    ((request, passed),) = calls
    if not is_jit(request.host):
        name = getattr(request.host, "__name__", repr(request.host))
        return Flaw(f"{name}, which it compiles, is not a @cute.jit function.", Fail.NOT_JIT)
    for n, (name, tensor) in enumerate(zip("abc", tensors, strict=True)):
        argument = request.arguments[n] if n < len(request.arguments) else None
        told, wanted = tensor_type(argument), f"{tuple(tensor.shape)}:{tensor.stride()}"
        if told is None or (layout := f"{told.shape}:{told.stride}".replace("None", "?")) != wanted:
            what = f"{called} launches what it compiled for {layout if told else 'no tensor'} as {name}; this one is"
            return Flaw(f"{what} {wanted}.", HostFlaw.TENSORS(how="layout"))
        if (told.align or 2) % WIDEST:
            what = f"{name} is wrapped as aligned to {told.align or 2} bytes; copies of {WIDEST} need {WIDEST}."
            return Flaw(what, HostFlaw.TENSORS(how="alignment"))
        if address_of(passed[n] if n < len(passed) else None) != tensor.data_ptr():
            return Flaw(f"called again with other tensors, it launches on another {name}.", HostFlaw.OTHER_TENSORS)
    return ""


def address_of(passed: Any) -> int | None:
    """Of a torch tensor, or of one that is wrapped; None for anything else."""
    found = getattr(passed, "data_ptr", None)
    return found() if callable(found) else found


def tensors_of(shape: Shape) -> "list[Tensor]":
    import torch

    shapes = ((op, PROBLEM.shape_of(op, shape)) for op in PROBLEM.operands)
    return [op.laid_out(torch.zeros(size, dtype=torch.bfloat16)) for op, size in shapes]
