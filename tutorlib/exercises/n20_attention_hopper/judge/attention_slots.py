"""Answers that fill slots of the attention kernel (`kernels.attention.slots`), and one that fills all of them."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import product
from types import FunctionType
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.part import HostFunction, Part, need_callable
from tutorlib.checking.plain_python import as_written, instead_of, plain_loops
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cute import call_host
from tutorlib.compiling.errors import CompileFailed
from tutorlib.failure import FailureKind, Flaw

if TYPE_CHECKING:
    from tutorlib.kernels.attention.slots import AttentionParts

Settings = Mapping[str, Any]  # for AttentionConfig


class AttnFlaw(FailureKind):
    """Why a part gives right results and is not the part that was asked for."""

    NOT_OVERLAPPED = "softmax beside no P V"
    P_WAITS = "softmax waits for P V"
    NO_TURNS = "no warpgroup passes its turn"
    VIEW = "a view of other registers"
    SHAPE = "a view of another shape"
    COPY = "a copy of the registers"
    ISSUED_OUT_OF_TURN = "a group issued out of turn"
    KEEPS_TURN = "keeps its turn while it waits"
    KEEPS_K = "keeps K during the softmax"
    FREED_AGAIN = "a stage freed more than once"
    V_FIRST = "V before the K that is read first"
    STAGES = "a number of stages in place of the ring's"
    TURN = "a barrier that does not give turns"
    COURSES = "the course's part of attention"


NO_TURNS = Flaw(
    "no warpgroup passes its turn: pass_turn arrives at the other one's barrier and goes on, barrier_arrive.",
    AttnFlaw.NO_TURNS,
)


def without_overlap(ptx: str) -> str:
    """A fault if no exponential comes between a wait for the older group and the wait for all; else ""."""
    if not re.search(r"wgmma\.wait_group\S*\s+1;", ptx):
        what = (
            "no wait_group(1) comes before the softmax: it completes S, which the exponentials need, and leaves P V, "
            "the newest group, in flight."
        )
        return Flaw(what, AttnFlaw.NOT_OVERLAPPED)
    hidden = r"wgmma\.wait_group\S*\s+1;(?:(?!wgmma\.(?:wait|commit)_group).)*ex2\."
    if not re.search(hidden, ptx, re.DOTALL):
        what = "it waits for P V before the softmax of the next block: the exponentials need S alone."
        return Flaw(what, AttnFlaw.P_WAITS)
    return ""


def without_turns(ptx: str) -> str:
    """A fault if no warpgroup arrives at a named barrier without waiting there; else ""."""
    if not re.search(r"\bbar(?:rier)?(?:\.cta)?\.arrive", ptx):
        return NO_TURNS
    return ""


def static_attention(settings: Settings, causal: bool, parts: "AttentionParts") -> HostFunction:
    """The host function attention(q, k, v, o) for its tensors' sizes. settings: beside head_dim, causal and group."""
    from cutlass import Float32, Int32, cute

    from tutorlib.kernels.attention.hopper import launch_attention
    from tutorlib.kernels.attention.roles import AttentionConfig

    @cute.jit
    def attention(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, o: cute.Tensor) -> None:
        head_dim, group = q.shape[3], q.shape[1] // k.shape[1]
        config = AttentionConfig(head_dim, causal=causal, group=group, **settings)
        # A descriptor leaves out a mode whose size is known to be 1: so no size is known.
        tensors = tuple(
            cute.make_tensor(x.iterator, cute.make_layout((*map(Int32, x.shape[:3]), head_dim), stride=x.stride))
            for x in (q, k, v, o)
        )
        launch_attention(tensors, None, Float32(head_dim**-0.5), config, parts)

    return attention


@dataclass(frozen=True, kw_only=True)
class AttentionSlot(Part):
    """names: of the slots that the answer fills, one function or a tuple of them; the others are the course's.

    settings: of the kernel that a GPU runs. small: of the one that is simulated.
    """

    names: tuple[str, ...]
    causal: bool = False
    settings: Settings = field(default_factory=dict)
    small: Settings = field(default_factory=lambda: {"tile_n": 64})

    def host(self, answer: Answer) -> HostFunction:
        return static_attention(self.settings, self.causal, self.parts(answer))

    def simulated_host(self, answer: Answer) -> HostFunction:
        return static_attention(self.small, self.causal, self.parts(answer))

    def parts(self, answer: Answer) -> "AttentionParts":
        """Raises WrongKind."""
        from tutorlib.kernels.attention.slots import COURSE

        filled = answer if isinstance(answer, tuple | list) else (answer,)
        if len(filled) != len(self.names):
            raise WrongKind(f"check takes {' and '.join(self.names)}, {len(self.names)} functions, not {len(filled)}.")
        return replace(COURSE, **dict(zip(self.names, map(need_callable, filled), strict=True)))


@dataclass(frozen=True, kw_only=True)
class ViewsSlot(AttentionSlot):
    """Both views are looked at before the kernel is built: the compiler removes copies, so the kernel has none."""

    def look(self, answer: Answer, points: float) -> Verdict | None:
        flaw = view_flaw(self.parts(answer))
        return wrong(flaw) if flaw else None


def view_flaw(parts: "AttentionParts") -> str:
    """A fault in the two views, or ""."""
    found = (find_misplaced(parts.by_row, parts.p_operand, columns) for columns in (64, 176))
    return next(filter(None, found), "")


def find_misplaced(by_row: Answer, p_operand: Answer, columns: int) -> str:
    """The first element of a thread's accumulators of 64×columns that a view has in another register, or ""."""
    import torch
    from cutlass import BFloat16, cute
    from cutlass.cute.runtime import from_dlpack

    flaws: list[Flaw] = []

    def note(name: str, view: Any, shape: tuple[Any, ...], places: "dict[tuple[Any, ...], int]") -> None:
        if not flaws and not (cute.is_weakly_congruent(shape, view.shape) and cute.size(view) == len(places)):
            what = f"with {columns} columns, {name}(acc) has the shape {view.shape}, not {shape}."
            flaws.append(Flaw(what, AttnFlaw.SHAPE))
        for place, register in places.items():
            if not flaws and (got := int(view.layout(place))) != register:
                what = f"with {columns} columns, {name}(acc) has element {place} in register {got}, not {register}."
                flaws.append(Flaw(what, AttnFlaw.VIEW))

    @cute.jit
    def host(firsts: cute.Tensor) -> None:
        acc = cute.make_rmem_tensor(((2, 2, columns // 8), 1, 1), BFloat16)
        acc.fill(BFloat16(0))
        views = by_row(acc), p_operand(acc)
        pairs = product(range(2), range(2), range(columns // 8))
        rows = {(row, (one, pair)): one + 2 * row + 4 * pair for one, row, pair in pairs}
        note("by_row", views[0], (2, (2, columns // 8)), rows)
        elements = product(range(2), range(2), range(2), range(columns // 16))
        operand = {((a, b, c), 0, block): a + 2 * b + 4 * c + 8 * block for a, b, c, block in elements}
        note("p_operand", views[1], ((2, 2, 2), 1, columns // 16), operand)
        acc[0] = BFloat16(1)
        firsts[0], firsts[1] = views[0][0], views[1][0]

    firsts = torch.zeros(2, dtype=torch.bfloat16)
    try:
        call_host(host, from_dlpack(firsts))
    except CompileFailed:
        return ""  # the kernel's compilation tells more
    for name, first in zip(("by_row", "p_operand"), firsts, strict=True):
        if not flaws and not first:
            what = (
                f"{name}(acc) has registers of its own: it lacks a number that is written to acc afterward. A view is "
                "another layout of acc.iterator."
            )
            return Flaw(what, AttnFlaw.COPY)
    return flaws[0] if flaws else ""


@dataclass(frozen=True, kw_only=True)
class ProducerSlot(AttentionSlot):
    def look(self, answer: Answer, points: float) -> Verdict | None:
        return lowered(load_flaw(self.parts(answer).produce), points)


@dataclass(frozen=True, kw_only=True)
class StepSlot(AttentionSlot):
    def look(self, answer: Answer, points: float) -> Verdict | None:
        return step_verdict(self.parts(answer).step, points)

    def lacks(self, compiled: Compiled) -> str:
        return without_overlap(compiled.ptx)


def lowered(flaw: str, points: float) -> Verdict | None:
    """The verdict on a part that gives right results and has this flaw; None if it is ""."""
    return Verdict(max(points - 1, points / 2), ("right, but " + flaw,), "partial") if flaw else None


BLOCKS, STAGES = 4, 3  # of a producer that runs as plain Python


def load_flaw(produce: Answer) -> str:
    """A fault in the order of the loads, which the simulator does not see since it has no latency, or ""."""
    import cutlass
    from cutlass import pipeline

    loads, states = MagicMock(), MagicMock()
    loads.stages = STAGES
    modules = [(cutlass, plain_loops()), (pipeline, {"make_pipeline_state": states})]
    if not runs_plainly(modules, produce, loads, BLOCKS):
        return ""
    if any(STAGES not in (*made.args, *made.kwargs.values()) for made in states.call_args_list):
        return Flaw("its states have a number of stages of their own: loads.stages is the rings'.", AttnFlaw.STAGES)
    numbers = {"load_k": [], "load_v": []}  # type: dict[str, list[tuple[int, int]]]
    for place, (name, args, named) in enumerate(loads.method_calls):
        if name in numbers:
            numbers[name].append((int((*args, *named.values())[0]), place))
    of_k, of_v = map(dict, numbers.values())
    for block in range(BLOCKS - 1, 0, -1):
        if of_v.get(block, BLOCKS**2) < of_k.get(block - 1, 0):
            what = (
                f"it loads V of block {block} before K of block {block - 1}, which the consumers read first: with "
                "overlap they wait for it."
            )
            return Flaw(what, AttnFlaw.V_FIRST)
    return ""


def step_verdict(step: Answer, points: float) -> Verdict | None:
    """On faults in the step's calls that a few blocks do not show."""
    calls = calls_of(step)
    if twice := next((name for name in ("free_k", "free_v") if calls.count(name) > 1), ""):
        what = f"it calls {twice} {calls.count(twice)} times: a stage that is freed too often is loaded too early."
        return wrong(Flaw(what, AttnFlaw.FREED_AGAIN))
    return lowered(step_flaw(calls), points)


def calls_of(step: Answer) -> list[str]:
    """The names of what it calls of `me`, in order; none if it cannot be run as plain Python."""
    import cutlass
    from cutlass import cute
    from cutlass.cute.nvgpu import warpgroup

    me = MagicMock()
    modules = [
        (cutlass, plain_loops()),
        (cute, {name: MagicMock() for name in ("make_rmem_tensor", "make_rmem_tensor_like", "make_fragment_like")}),
        (warpgroup, {"wait_group": me.wait_group}),
    ]
    if not runs_plainly(modules, step, me, MagicMock(), MagicMock(), 0, True):
        return []
    return [name for name, *_ in me.method_calls]


def step_flaw(calls: list[str]) -> str:
    """A fault in the order of the step's calls that leaves the result right, or ""."""
    if not {"take_turn", "issue_s", "issue_o", "pass_turn", "free_k", "wait_group", "softmax_step"} <= set(calls):
        return ""
    turns = [name for name in calls if name in ("take_turn", "issue_s", "issue_o", "pass_turn")]
    if sorted(turns[1:3]) != ["issue_o", "issue_s"] or turns[0] != "take_turn" or len(turns) != 4:
        what = f"a turn covers both groups: take_turn, issue_s, issue_o, pass_turn. It calls {', '.join(turns)}."
        return Flaw(what, AttnFlaw.ISSUED_OUT_OF_TURN)
    if calls.index("pass_turn") > calls.index("wait_group"):
        what = "it waits before it passes its turn, and the other warpgroup cannot issue: pass it once both groups are."
        return Flaw(what, AttnFlaw.KEEPS_TURN)
    if calls.index("free_k") > calls.index("softmax_step"):
        what = (
            "it frees the stage of K after the softmax: S has read it, and the producer could load the next K "
            "meanwhile."
        )
        return Flaw(what, AttnFlaw.KEEPS_K)
    return ""


def runs_plainly(modules: list[tuple[Any, dict[str, Any]]], function: Answer, *args: Any) -> bool:
    """Whether the function, as plain Python, takes these arguments while the modules have other functions.

    It runs in a trace, where the DSL's other functions can be called, too. Those of cute.arch do nothing, and return 0.
    """
    from cutlass import cute

    names = (name for name, one in vars(cute.arch).items() if isinstance(one, FunctionType))
    done: list[bool] = []

    @cute.jit
    def host() -> None:
        as_written(function)(*args)
        done.append(True)
        raise StopIteration  # there is no need to compile it

    with (
        suppress(Exception),
        instead_of([(cute.arch, {name: MagicMock(return_value=0) for name in names}), *modules], function),
    ):
        host()
    return bool(done)


@dataclass(frozen=True, kw_only=True)
class TurnSlot(AttentionSlot):
    def look(self, answer: Answer, points: float) -> Verdict | None:
        parts = self.parts(answer)
        flaw = turn_flaw(parts.take_turn, parts.pass_turn)
        return wrong(flaw) if flaw else None

    def lacks(self, compiled: Compiled) -> str:
        return without_turns(compiled.ptx)


BOTH = 256  # threads of the two warpgroups
BarrierCalls = list[tuple[str, int, int]]  # "waits" or "arrives", the barrier, its threads


def turn_flaw(take_turn: Answer, pass_turn: Answer) -> str:
    """Why the two do not give turns, or "".

    The simulator runs warps in an order in which many a barrier happens to work, so the calls are compared.
    """
    (taken, passed), (other, back) = ([barriers_of(one, group) for one in (take_turn, pass_turn)] for group in (0, 1))
    if taken == passed == []:
        return NO_TURNS
    for wait, arrive, group in ((taken, back, 0), (other, passed, 1)):
        if wait is None or arrive is None:
            continue
        expected = [("waits", *call[1:]) for call in arrive if call[0] == "arrives"]
        if wait != expected or len(wait) != 1 or wait[0][2] != BOTH:
            what = (
                f"for its turn warpgroup {group} {told(wait)}; to give it that turn, warpgroup {1 - group} "
                f"{told(arrive)}."
            )
            return Flaw(what, AttnFlaw.TURN)
    if taken == other and taken is not None:
        return Flaw(f"both warpgroups have their turn at one barrier: each {told(taken)}.", AttnFlaw.TURN)
    return ""


def barriers_of(function: Answer, group: int) -> BarrierCalls | None:
    """The named barriers that a warpgroup uses in the function; None if it cannot be run as plain Python."""
    from types import SimpleNamespace

    from cutlass.cute import arch

    calls: BarrierCalls = []

    def noting(does: str) -> Answer:
        return lambda barrier_id=0, number_of_threads=0, **_: calls.append((does, int(barrier_id), number_of_threads))

    names = {"barrier": noting("waits"), "barrier_arrive": noting("arrives")}
    return calls if runs_plainly([(arch, names)], function, SimpleNamespace(group=group)) else None


def told(calls: BarrierCalls) -> str:
    return " and ".join(f"{does} at barrier {id} of {threads} threads" for does, id, threads in calls) or "does nothing"


@dataclass(frozen=True, kw_only=True)
class WholeAttention(TurnSlot):
    """The answer takes nothing and returns AttentionParts, all of them its own."""

    names: tuple[str, ...] = ()

    def parts(self, answer: Answer) -> "AttentionParts":
        """Raises WrongKind."""
        from tutorlib.kernels.attention.slots import COURSE, AttentionParts

        if isinstance(answer, AttentionParts):
            raise WrongKind("check takes the function my_parts itself, not its result.")
        try:
            got = need_callable(answer)()
        except TypeError as error:  # a slot too few or too many
            raise WrongKind(f"my_parts() raised TypeError: {error}.") from error
        if not isinstance(got, AttentionParts):
            raise WrongKind(f"{got!r} is not AttentionParts.")
        for slot in fields(AttentionParts):
            if need_callable(getattr(got, slot.name)) is getattr(COURSE, slot.name):
                what = f"the slot {slot.name} has the course's function: fill each with your own."
                raise WrongKind(Flaw(what, AttnFlaw.COURSES))
        return got

    def look(self, answer: Answer, points: float) -> Verdict | None:
        parts = self.parts(answer)
        found = super().look(answer, points) or step_verdict(parts.step, points)
        return found or lowered(view_flaw(parts) or load_flaw(parts.produce), points)

    def lacks(self, compiled: Compiled) -> str:
        return without_overlap(compiled.ptx) or super().lacks(compiled)
