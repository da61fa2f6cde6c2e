"""What the process of an answer needs of page 21's exercises."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Required, TypedDict, cast

from tutorlib.checking.answer import Served
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.evidence import Request, SourceRequest
from tutorlib.checking.exercise import Answer, Exercise, Verdict, WrongKind, wrong
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.part import HostFunction, Part
from tutorlib.checking.randomness import fresh_generator
from tutorlib.checking.running import BREAKS, find_fault_of_simulated_call
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.errors import CompileFailed
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.kernels.bugs.catalogue import Bug, CudaLaunch, CuteLaunch
from tutorlib.measuring.launchers import CppLauncher
from tutorlib.measuring.simulated_launchers import launched, simulated_cpp, simulator_of
from tutorlib.problems.differences import by, find_difference
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import KernelFault, Launcher, Work

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from tutorlib.measuring.simulated_launchers import SimulatedLauncher


# Exercises whose answer is a diagnosis of a broken kernel: which line, which cause, and an input that shows it.

CAUSES = {
    "barrier in a branch": "some threads of a block never reach a barrier at which the others wait",
    "read too early": "threads read data that other threads of the block write, with no barrier in between",
    "overwritten too early": "threads overwrite data that others may still be reading, with no barrier in between",
    "copy not committed": "an asynchronous copy was put into no group and on no barrier, so no wait can cover it",
    "copy not waited for": "an asynchronous copy is in a group or on a barrier, but used before a wait covers it",
    "wrong stage": "the index into the ring of buffers is not that of the current tile",
    "wrong phase": "a wait names the parity of another phase of the mbarrier",
    "proxy not fenced": "TMA or wgmma reads shared memory that threads wrote, with no proxy fence in between",
    "uninitialized": "a value is read, or added to, before it is set",
    "wrong identity": "a reduction starts from, or is padded with, a value that can change its result",
    "not reset": "accumulators start from the values that an earlier tile or row left",
    "majors swapped": "rows are taken for columns, or columns for rows",
    "wrong coordinate": "an index or a count is off: by one, or of another block, warp or lane",
    "unguarded edge": "the last tile of M or N extends past the edge, and no predicate guards it",
    "unguarded tail": "the last step of K is only partly filled, and the rest of it is used",
    "lost updates": "several blocks write to one place without atomics",
    "blocks not ordered": "a block reads what another wrote, and nothing orders the two",
    "bank conflicts": "threads of a warp access different rows of the same shared memory bank",
    "uncoalesced": "threads of a warp touch sectors of which they use a small part",
    "misaligned": "an address is not a multiple of the access's width",
    "out of shared memory": "the kernel addresses more shared memory than it allocated",
    "index overflow": "an index or offset does not fit into its integer type",
    "lost divisibility": "a size or stride has a type that no longer carries its divisors",
    "inputs rounded": "the inputs are rounded to a narrower type before they are multiplied",
    "accumulators rounded": "accumulators have a type that is too narrow",
    "shuffle in a branch": "some threads of a warp never reach an instruction that needs the whole warp",
}
OBJECTS = "the simulator reports a violation, whether or not the result is right."
DRAWS = 4  # of random inputs: a few elements can hide a fault by chance
LARGEST = 2**16  # elements of all tensors: a hunt makes things small


class Diagnosis(TypedDict, total=False):
    """What is wrong with a kernel; a dictionary, so that it can be judged outside of the notebook's process.

    line: its number in the listing, or its text or a part of it that no other line has; if a statement is missing, a
        line next to the gap. None: not known.
    cause: of CAUSES. None: not known.
    shape: at which it shows, by the dims of the problem.
    data: the inputs, as NumPy arrays or torch tensors; where there are none, they are random.
    """

    line: int | str | None
    cause: str | None
    shape: Required[Shape]
    data: "Sequence[np.ndarray | Tensor]"


class DiagnosisFlaw(FailureKind):
    """What is wrong with a diagnosis."""

    NOTHING_SHOWN = "nothing shown"
    WRONG = "line or cause wrong"
    NOT_SMALLEST = "not the smallest"


UNEXPLAINED = "Now say where and why: a line and a cause are judged only together, and a wrong pair costs this point."
NOT_IT = Flaw(
    "The line, the cause or both are wrong. Before you try another pair, predict what it would do to one element.",
    DiagnosisFlaw.WRONG,
)
NOT_SMALLEST = Flaw(
    "right; the last point is for the smallest input: one with fewer elements in all tensors together exposes the bug.",
    DiagnosisFlaw.NOT_SMALLEST,
)


@dataclass(frozen=True, kw_only=True)
class DiagnosisExercise(Exercise):
    """The answer takes nothing and returns a Diagnosis. The broken kernel is simulated on its input.

    An input that does not expose the fault earns nothing. An input that does earns a point, and the right pair of line
    and cause the others, one of them only if the input is the smallest. They are judged only together, and a wrong pair
    costs the input's point: trying lines and causes one by one tells nothing.

    lines: those that count as the place, by their text or a part of it, or by number where several have it.
    cause: of CAUSES. small: elements of all tensors of the smallest input.
    """

    bug: Bug
    lines: tuple[str | int, ...]
    cause: str
    small: int

    def judge(self, served: Served) -> Verdict:
        found = served.ask(diagnosis_of)
        shape, cause = found["shape"], found.get("cause")
        place = self.line_number(found.get("line"))
        if cause is not None and cause not in list(CAUSES):  # whatever it is, hashable or not
            raise WrongKind(f"no cause is called {cause!r}; CAUSES has them.")
        if objection := self.objection(shape):
            raise WrongKind(f"{objection}.")
        size = by(shape)
        if not (shown := self.shown(found)):
            what = f"at {size} nothing goes wrong, and the simulator has no finding. Which input exposes the bug?"
            return wrong(Flaw(what, DiagnosisFlaw.NOTHING_SHOWN))
        if place is None or cause is None:
            return Verdict(1, (f"{size} shows it: {shown}", UNEXPLAINED))
        if place not in self.places or cause != self.cause:
            return Verdict(0, (f"{size} shows it: {shown}", NOT_IT))
        if self.elements(shape) > self.small:
            return Verdict(self.points - 1, (NOT_SMALLEST,))
        return Verdict(self.points)

    @property
    def places(self) -> set[int]:
        """The numbers of the lines that count."""
        return {self.line_number(line) or 0 for line in self.lines}

    def line_number(self, line: int | str | None) -> int | None:
        """Raises WrongKind where there is no such line, or several."""
        listing = self.bug.source.splitlines()
        if line is None:
            return None
        if isinstance(line, Integral):
            if not 1 <= line <= len(listing) or not listing[line - 1].strip():
                raise WrongKind(f"the listing has no line {line} with anything in it.")
            return int(line)
        wanted = " ".join(str(line).split())
        exact = [n for n, text in enumerate(listing, 1) if wanted and " ".join(text.split()) == wanted]
        found = exact or [n for n, text in enumerate(listing, 1) if wanted and wanted in " ".join(text.split())]
        if len(found) != 1:
            where = f"is on lines {', '.join(map(str, found))}: give a number" if found else "is on no line"
            raise WrongKind(f"the text {line!r} {where}.")
        return found[0]

    def elements(self, shape: Shape) -> int:
        """Of all tensors."""
        return sum(math.prod(self.bug.problem.shape_of(op, shape)) for op in self.bug.problem.operands)

    def objection(self, shape: Any) -> str:
        """Why the kernel cannot be tried at this shape, or ""."""
        problem = self.bug.problem
        integers = isinstance(shape, tuple | list) and all(isinstance(n, Integral) and int(n) > 0 for n in shape)
        if not integers or len(shape) != len(problem.dims):
            return f"the shape is ({', '.join(problem.dims)}), positive integers; yours is {shape!r}"
        shape = tuple(map(int, shape))
        if refused := self.bug.refuses(shape):
            return f"{by(shape)} is outside the kernel's contract: {refused}"
        if (elements := self.elements(shape)) > LARGEST:
            return f"{by(shape)} has {elements:,} elements in all: make it small, {LARGEST:,} at most"
        return ""

    def shown(self, found: Diagnosis) -> str:
        """What goes wrong on its input, without the cause; "" for nothing. Random ones are drawn up to DRAWS times."""
        draws = DRAWS if found.get("data") is None else 1
        return next(filter(None, (self.shown_once(found) for _ in range(draws))), "")

    def shown_once(self, found: Diagnosis) -> str:
        work = Work(self.bug.problem, tuple(map(int, found["shape"])), "cpu")
        work.refill(fresh_generator())
        if found.get("data") is not None:
            put_inputs(work, arrays(found["data"]))
            need_right_result(work)
        work.output.poison()
        try:
            simulator = simulator_of(self.bug, self.bug.source)
            fault = find_fault_of_simulated_call(simulator, simulator.on(work), work)
        except CompileFailed:
            return "it does not compile."
        except KernelFault:
            return "some threads wait forever."
        output = work.problem.output.name
        if not any(finding.kind in BREAKS for report in simulator.reports for finding in report.findings):
            wrong_result = find_difference(output, *work.output.seen, *work.expected())
            if wrong_result:
                return wrong_result.what
        return OBJECTS if fault else ""


def diagnosis_of(answer: Served) -> Diagnosis:
    """What the answer returns. Raises WrongKind."""
    if not callable(answer.answer):
        raise WrongKind(f"{answer.answer!r} is not a function that returns a Diagnosis.")
    try:
        found = answer()
    except NotImplementedError:
        raise
    except Exception as error:
        raise WrongKind(f"{getattr(answer, '__name__', 'it')}() raised {type(error).__name__}: {error}") from error
    known = Diagnosis.__annotations__.keys()
    if not isinstance(found, dict) or not found.keys() <= known or "shape" not in found:
        raise WrongKind(f"it should return a Diagnosis(line=…, cause=…, shape=…); it returns {found!r}.")
    return cast(Diagnosis, found)


def arrays(data: Any) -> "tuple[Tensor, ...]":
    """The inputs as tensors. Raises WrongKind where they are something else."""
    import numpy as np
    import torch

    given = data if isinstance(data, tuple | list) else (data,)
    if not all(isinstance(x, torch.Tensor) or (isinstance(x, np.ndarray) and x.dtype.kind in "fiub") for x in given):
        raise WrongKind("the data should be a list of torch tensors or NumPy arrays of numbers, one for each input.")
    return tuple(x.cpu() if isinstance(x, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(x)) for x in given)


def need_right_result(work: Work) -> None:
    """Raises WrongKind where the inputs have no finite right result, or none that arithmetic in fp32 comes near."""
    right, allowed = work.expected()
    if not right.isfinite().all():
        raise WrongKind(
            "for these data even the right result has NaN or infinite elements, so it shows nothing about the kernel."
        )
    in_fp32 = work.problem.reference(*(x.float() if x.is_floating_point() else x for x in work.inputs))
    if not ((in_fp32 - right).abs() <= allowed).all():
        raise WrongKind("for these data a product or a sum leaves the range of fp32, in any kernel: try others.")


def put_inputs(work: Work, given: "Sequence[Tensor]") -> None:
    """Raises WrongKind where they are not the problem's inputs."""
    wanted = [f"{op.name} {tuple(x.shape)}" for op, x in zip(work.problem.inputs, work.inputs, strict=True)]
    if [tuple(x.shape) for x in given] != [tuple(x.shape) for x in work.inputs]:
        raise WrongKind(f"the inputs should be {', '.join(wanted)}.")
    for old, new in zip(work.inputs, given, strict=True):
        old.copy_(new)


# Exercises whose answer fixes a broken kernel's source; the kernel is then checked like any other.

FIXED = "the fixed source, a string"


@dataclass(frozen=True, kw_only=True)
class FixedKernel(Part):
    """The kernel or the host function of this name in the source that the answer returns. file: of the broken one."""

    source: str
    file: str
    name: str

    def host(self, answer: Answer, simulated: Shape = ()) -> HostFunction:
        """Raises CompileFailed where the fixed source cannot be imported."""
        text = SourceRequest(args=(self.source,), returns=FIXED).made_of(answer)
        return launched(text, self.file, self.name)


@dataclass(frozen=True, kw_only=True)
class FixExercise(KernelExercise):
    """The answer takes the broken kernel's source, a string, and returns the fixed one."""

    bug: Bug

    def judge(self, served: Served) -> Verdict:
        """Sizes at which the broken kernel is right, too, earn nothing."""
        verdict = super().judge(served)
        partly = 0 < verdict.points < self.correctness_points
        return replace(verdict, points=0) if partly and verdict.points <= self.unfixed else verdict

    @cached_property
    def unfixed(self) -> float:
        """What the broken kernel would earn. It is simulated: on a GPU it may hang."""
        try:
            as_it_is = Served(lambda source: source)
            return self.simulate(self.evidence(as_it_is, self.sizes_simulated, ()), "").points
        except (CompileFailed, KernelFault):
            return 0


@dataclass(frozen=True, kw_only=True)
class CuteFix(FixExercise, CuteExercise):
    """A fix of a @cute.jit host function."""


@dataclass(frozen=True, kw_only=True)
class CudaFix(FixExercise):
    """A fix of CUDA C++."""

    launch: CudaLaunch

    def request(self, simulated: tuple[Shape, ...], run: tuple[Shape, ...]) -> SourceRequest:
        return SourceRequest(**self.for_request(()), args=(self.bug.source,), returns=FIXED)

    def seen(self, request: Request, found: Any) -> Any:
        if "__global__" not in found:
            raise WrongKind("the source that it returns has no __global__ function: return the whole file.")
        return CppLauncher(found, self.launch.grid, self.launch.block)

    def wrong_code(self, evidence: CppLauncher) -> str | None:
        return self.lacking(evidence.compiled(f"sm_{self.needs.since}").instructions)

    def simulator(self, evidence: CppLauncher) -> "SimulatedLauncher":
        return simulated_cpp(evidence.source, self.launch.grid, self.launch.block)

    def launcher(self, evidence: CppLauncher) -> Launcher:
        return evidence


def false_promise(known: int) -> Callable[[Compiled], str]:
    """Finds that the compiler was promised of a row's pitch what no size keeps. known: what divides it.

    A kernel of CuTe has its tensors' layouts in its name: strides (? {i64 div=8}, 1) are i64div81 there.
    """

    def found(compiled: Compiled) -> str:
        broken = [n for n in map(int, re.findall(r"i64div(\d+)1_", compiled.ptx)) if known % n]
        if not broken:
            return ""
        return Flaw(
            f"it promises the compiler that {broken[0]} divides a row's pitch, and only {known} is known to divide it: "
            f"with {known} columns the promise is broken, and an access that relied on it would be misaligned.",
            Fail.PARAMETERS,
        )

    return found


def fix_of(bug: Bug, **asked: Any) -> FixExercise:
    """The exercise to fix a bug. asked: what the fixed kernel must have, as its kind of exercise has it."""
    common = {"bug": bug, "problem": bug.problem, "shapes": bug.fix_shapes, "needs": bug.needs, **asked}
    if isinstance(bug.launch, CudaLaunch):
        return CudaFix(**common, launch=bug.launch)
    assert isinstance(bug.launch, CuteLaunch)
    part = FixedKernel(source=bug.source, file=bug.name, name=bug.launch.host)
    return CuteFix(**common, part=part, dynamic=bug.launch.dynamic, divisible=bug.launch.divisible)
