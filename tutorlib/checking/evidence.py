"""Evidence of an answer that is a kernel: plain data, which one call makes in the process of the answer.

A judge says in a Request which sizes and GPUs it will look at. `evidence_of` compiles the kernel for them, records what
its host function launches and, of cuTile, interprets it. A notebook's check calls that in its own process; the grader
sends the request to the student's, and what comes back crosses as these records. No machine code does: the judge
compiles PTX and Tile IR itself, simulates it or launches it, with inputs and a clock of its own.

An entry of the evidence that could not be made is the exception that says why; the judge raises it where it wants to
use the entry (`used`). Of a process that is not trusted the judge also checks each entry there.
"""

import ctypes
import linecache
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tutorlib.checking.answer import Answer, WrongKind
from tutorlib.checking.launch_plan import LaunchPlan, TileIr
from tutorlib.checking.library_use import from_words, refuse_library_use
from tutorlib.checking.part import Part, require_jit
from tutorlib.checking.served import Served
from tutorlib.compiling.errors import CompileFailed, first_cause
from tutorlib.compiling.spec import DTYPES, TensorSpec
from tutorlib.dsl.functions import function_of, opt_level
from tutorlib.failure import Fail, Flaw, Hazard, failures_in
from tutorlib.machine.features import cute_target
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.cutile import TileReport
    from tutorlib.simulate.ptx.findings import SourceLine

T = TypeVar("T")
Specs = tuple[TensorSpec, ...]  # of a problem's tensors at a size, the output last
Looked = tuple[float, tuple[str, ...]]  # points and lines of a verdict
FIRST, APART = 2**45, 2**36  # the address that is made up for the first tensor of a launch, and how far the next is
MOST_PTX = 2**24  # characters
UNREADABLE = "the compiled kernel cannot be read"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a judge wants to know of an answer. library: what the answer may not name, as `library_use.as_told` has it.

    arch, sms: of the GPU at hand, for which what is `run` is compiled; "" and 0 for none.
    """

    library: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    arch: str = ""
    sms: int = 0

    def made_of(self, answer: Answer) -> Any:
        """The evidence of an answer that names nothing of the library. Raises WrongKind and CompileFailed."""
        raise NotImplementedError


def evidence_of(served: Served, request: Request) -> Any:
    """The one question of a judge about a kernel."""
    refuse_library_use(served.answer, from_words(request.library))
    return request.made_of(served.answer)


def made_or_why(make: Callable[[], T]) -> T | Exception:
    """What this makes, or the exception that says why nothing can be made. A placeholder's error passes through."""
    from tutorlib.simulate.ptx import CannotLaunch, NotSimulated

    try:
        return make()
    except CompileFailed as failed:
        refused = first_cause(failed, WrongKind)
        return refused if isinstance(refused, WrongKind) else failed
    except (CannotLaunch, NotSimulated, WrongKind) as error:
        return error


def used(found: Any, kind: type[T], why: str = UNREADABLE) -> T:
    """The entry. Raises what stands in its place, and CompileFailed where it is nothing of this kind."""
    if isinstance(found, Exception):
        raise found.with_traceback(None)
    if not isinstance(found, kind):
        raise CompileFailed(why)
    return found


# CuTe ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RecordedLaunch:
    """A launch of a host function on tensors at made-up addresses: tensor n lies at FIRST + n · APART."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    dynamic_smem: int
    parameters: bytes
    cluster: tuple[int, ...]
    cooperative: bool
    overlapping: bool


@dataclass(frozen=True, kw_only=True)
class CuteCode:
    """The kernels of a host function, compiled for one size and GPU, and their launches.

    smem_bytes: of a block. places: the lines of the reader's source; the PTX's line information numbers them from 1.
    """

    ptx: str
    smem_bytes: int = 0
    launches: tuple[RecordedLaunch, ...] = ()
    places: "tuple[SourceLine | None, ...]" = ()


@dataclass(frozen=True, kw_only=True)
class CuteEvidence:
    """Of a @cute.jit host function.

    looked: what the part saw in the answer by itself. compiled: for GPUs, by size and compute capability. simulated:
    for the simulator, by size.
    """

    looked: Looked | None = None
    compiled: Mapping[tuple[Shape, str], CuteCode | Exception] = field(default_factory=dict)
    simulated: Mapping[Shape, CuteCode | Exception] = field(default_factory=dict)

    def compiled_at(self, shape: Shape, arch: str) -> CuteCode:
        return readable(self.compiled.get((shape, arch)))

    def simulated_at(self, shape: Shape) -> CuteCode:
        return readable(self.simulated.get(shape))


def readable(found: Any) -> CuteCode:
    """Raises as `used`."""
    code = used(found, CuteCode)
    if not (isinstance(code.ptx, str) and len(code.ptx) <= MOST_PTX and ".entry" in code.ptx):
        raise CompileFailed(UNREADABLE)
    return code


@dataclass(frozen=True, kw_only=True)
class CuteRequest(Request):
    """Of a @cute.jit host function, or of a part of one.

    points: those of a right answer. specs: of the problem's tensors, by size. dynamic: whether one compilation serves
    all sizes. examined: a size and the compute capability whose code is looked at. simulated, run: sizes. target: of
    the simulator.
    """

    part: Part
    points: float
    specs: Mapping[Shape, Specs]
    dynamic: bool = False
    examined: tuple[Shape, str] | None = None
    simulated: tuple[Shape, ...] = ()
    run: tuple[Shape, ...] = ()
    target: str = "sm_80"

    def made_of(self, answer: Answer) -> CuteEvidence:
        looked = self.part.look(answer, self.points)
        told = (float(looked.points), looked.lines) if looked else None
        if told and not told[0]:
            return CuteEvidence(looked=told)
        host = require_jit(self.part.host(answer))
        wanted = {*((shape, self.arch) for shape in self.run), *([self.examined] if self.examined else ())}
        on_gpu = CompiledOnce(host, self.dynamic)
        simulated = CompiledOnce(self.part.simulated_host(answer) if self.simulated else host, self.dynamic)
        return CuteEvidence(
            looked=told,
            compiled={
                (shape, arch): made_or_why(partial(self.compiled, on_gpu, shape, arch)) for shape, arch in wanted
            },
            simulated={shape: made_or_why(partial(self.traced, simulated, shape)) for shape in self.simulated},
        )

    def compiled(self, host: "CompiledOnce", shape: Shape, arch: str) -> CuteCode:
        from tutorlib.compiling.dsls import compile_cute

        made = host.compiled(shape, arch, lambda: compile_cute(host.host, self.specs[shape], cute_target(arch)))
        launches = self.launches(made, shape, self.sms) if shape in self.run else ()
        return CuteCode(ptx=made.ptx, smem_bytes=made.smem_bytes, launches=launches)

    def traced(self, host: "CompiledOnce", shape: Shape) -> CuteCode:
        from tutorlib.simulate.ptx.languages.cute import SMS, compile_with_lines, place_of

        made = host.compiled(shape, "", lambda: compile_with_lines(host.host, self.specs[shape], self.target))
        if ".entry" not in made.ptx:
            raise CompileFailed(Flaw("it launches no kernel", Fail.LAUNCHES_NOTHING))
        places = tuple(map(place_of, made.stacks.stacks))
        return CuteCode(ptx=made.ptx, launches=self.launches(made, shape, SMS), places=places)

    def launches(self, made: Any, shape: Shape, sms: int) -> tuple[RecordedLaunch, ...]:
        from tutorlib.compiling.dsls import cute_arguments
        from tutorlib.simulate.ptx.languages.cute import record_launches
        from tutorlib.simulate.ptx.parse import parse_ptx

        tensors = [tensor_at(FIRST + n * APART, spec) for n, spec in enumerate(self.specs[shape])]
        found = record_launches(made.function, parse_ptx(made.ptx), cute_arguments(tensors, self.dynamic), sms)
        return tuple(
            RecordedLaunch(
                kernel=one.kernel.name,
                **{name: getattr(one, name) for name in ("grid", "block", "dynamic_smem", "parameters", "cluster")},
                cooperative=one.cooperative,
                overlapping=one.overlapping,
            )
            for one in found
        )


@dataclass
class CompiledOnce:
    """A host function, compiled once for each size and GPU; where it is dynamic, once for each GPU."""

    host: Answer
    dynamic: bool
    made: dict[Any, Any] = field(default_factory=dict)

    def compiled(self, shape: Shape, arch: str, compile: Callable[[], Any]) -> Any:
        key = () if self.dynamic else shape, arch
        if key not in self.made:
            self.made[key] = compile()
        return self.made[key]


def tensor_at(address: int, spec: TensorSpec) -> "Tensor":
    """A tensor at a made-up address: it must not be read."""
    import torch

    kind, count = DTYPES[spec.dtype], math.prod(spec.shape)
    memory = (ctypes.c_uint8 * max(count * kind.bytes, 1)).from_address(address)
    flat = torch.frombuffer(memory, dtype=getattr(torch, kind.torch), count=count)
    by_stride = sorted(range(len(spec.shape)), key=spec.stride_order.__getitem__, reverse=True)
    return flat.view([spec.shape[mode] for mode in by_stride]).permute(
        [by_stride.index(mode) for mode in range(len(spec.shape))]
    )


# cuTile --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Interpreted:
    """A call that was interpreted, block by block.

    output: poison where nothing was stored. zeroed: the same where elements of tiles outside their arrays are 0; None
    where nothing depends on them. changed: the inputs that differ afterwards, by number. raised: what the call raised.
    stored: whether a kernel stored the output last. current: whether all launches are in torch's current stream.
    """

    output: "Tensor | None" = None
    zeroed: "Tensor | None" = None
    changed: tuple[int, ...] = ()
    reports: "tuple[TileReport, ...]" = ()
    raised: str = ""
    stored: bool = True
    current: bool = True


Calls = tuple["tuple[Tensor, ...]", ...]  # the tensors of each call: inputs of the judge's, and a poisoned output
Runs = Callable[..., "tuple[Sequence[TileReport], bool, bool]"]  # takes them; gives the reports, `stored` and `current`


def interpreted(run: Runs, tensors: "tuple[Tensor, ...]") -> Interpreted:
    """The call on copies of these tensors. Raises CompileFailed, NotSimulated and a placeholder's error."""
    from tutorlib.compiling.dsls import refusals

    *inputs, output = (tensor.clone() for tensor in tensors)
    try:
        with refusals():
            reports, stored, current = run(*inputs, output)
    except (CompileFailed, NotImplementedError):
        raise
    except Exception as error:
        name = type(error).__name__
        return Interpreted(
            raised=Flaw(f"while it ran: {name}: {error}", Fail.RAISED(error=name), *failures_in(error.args))
        )
    zeroed = None
    if any(finding.kind == Hazard.UNSET for report in reports for finding in report.findings):
        zeroed = tensors[-1].clone()
        with refusals():
            run(*(tensor.clone() for tensor in tensors[:-1]), zeroed, undetermined=zero)
    pairs = enumerate(zip(tensors[:-1], inputs, strict=True))
    return Interpreted(
        output=output,
        zeroed=zeroed,
        changed=tuple(n for n, (before, after) in pairs if not before.equal(after)),
        reports=tuple(replace(one, loaded=dict(one.loaded), largest=dict(one.largest)) for one in reports),
        stored=stored,
        current=current,
    )


def zero(dtype: Any) -> int:
    return 0


At = tuple[str, Shape]  # a problem's name, and a size of it


@dataclass(frozen=True, kw_only=True)
class CutileEvidence:
    """Of a @ct.kernel. compiled: also by target, "sm_90". file, lines: its source. calls: as the judge asked for."""

    compiled: Mapping[tuple[At, str], TileIr | Exception] = field(default_factory=dict)
    interpreted: Mapping[At, tuple[Interpreted, ...] | Exception] = field(default_factory=dict)
    file: str = ""
    lines: tuple[str, ...] = ()
    calls: Mapping[At, Calls] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A launch of a @ct.kernel: its grid, and its arguments after the tensors."""

    grid: tuple[int, ...]
    constants: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CutileRequest(Request):
    """Of a @ct.kernel. part: finds it in the answer.

    trials: how it is launched. calls: those that are interpreted. compiled: tensors and target of what is exported.
    """

    part: Part = field(default_factory=Part)
    trials: Mapping[At, Trial]
    calls: Mapping[At, Calls] = field(default_factory=dict)
    compiled: Mapping[tuple[At, str], Specs] = field(default_factory=dict)

    def made_of(self, answer: Answer) -> CutileEvidence:
        import cuda.tile as ct

        kernel = self.part.host(answer)
        if not isinstance(kernel, ct.kernel):
            raise WrongKind(f"{getattr(answer, '__name__', repr(answer))} is not a @ct.kernel function.")
        accepted: list[Any] = []
        interpreted = {at: made_or_why(partial(self.interpreted, kernel, at, accepted)) for at in self.calls}
        file = function_of(kernel).__code__.co_filename
        return CutileEvidence(
            compiled={key: made_or_why(partial(self.exported, kernel, *key)) for key in self.compiled},
            interpreted=interpreted,
            file=file,
            lines=tuple(linecache.getlines(file)),
        )

    def interpreted(self, kernel: Any, at: At, accepted: list[Any]) -> tuple[Interpreted, ...]:
        from tutorlib.simulate.cutile import run

        trial = self.trials[at]

        def launch(*tensors: Any, **options: Any) -> "tuple[list[TileReport], bool, bool]":
            arguments = (*tensors, *trial.constants)
            return [run(kernel, trial.grid, arguments, accepted=accepted, **options)], True, True

        return tuple(interpreted(launch, tensors) for tensors in self.calls[at])

    def exported(self, kernel: Any, at: At, target: str) -> TileIr:
        from tutorlib.compiling.dsls import exported

        arguments = [*self.compiled[at, target], *self.trials[at].constants]
        made = exported(kernel, arguments, target, "tileir_bytecode")
        return TileIr(tile_ir=made, opt_level=opt_level(kernel, target))


# Host functions of cuTile kernels ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class HostEvidence:
    """Of a host function that launches cuTile kernels.

    plans: by size, target and number of the GPU's SMs. calls: as the judge asked for.
    """

    plans: Mapping[tuple[Shape, str, int], LaunchPlan | Exception] = field(default_factory=dict)
    interpreted: Mapping[At, tuple[Interpreted, ...] | Exception] = field(default_factory=dict)
    calls: Mapping[At, Calls] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class HostRequest(Request):
    """Of a host function. specs: of the problem's tensors, by size. calls: those that are interpreted."""

    specs: Mapping[Shape, Specs]
    plans: tuple[tuple[Shape, str, int], ...]
    calls: Mapping[At, Calls]

    def made_of(self, answer: Answer) -> HostEvidence:
        import cuda.tile as ct

        if isinstance(answer, ct.kernel):
            raise WrongKind("that is the kernel; the exercise asks for the Python function that launches it.")
        if not callable(answer):
            raise WrongKind(f"{answer!r} is not a function.")
        accepted: list[Any] = []
        interpreted = {at: made_or_why(partial(self.interpreted, answer, at, accepted)) for at in self.calls}
        plans = {key: made_or_why(partial(self.planned, answer, *key)) for key in self.plans}
        return HostEvidence(plans=plans, interpreted=interpreted)

    def interpreted(self, host: Answer, at: At, accepted: list[Any]) -> tuple[Interpreted, ...]:
        from tutorlib.checking.cutile_launches import launches_interpreted, stores_to

        def call(*tensors: Any, **options: Any) -> "tuple[list[TileReport], bool, bool]":
            with launches_interpreted(accepted=accepted, **options) as launched:
                host(*tensors)
            reports = [one.report for one in launched]
            return reports, stores_to(launched, tensors[-1]), all(one.current for one in launched)

        return tuple(interpreted(call, tensors) for tensors in self.calls[at])

    def planned(self, host: Answer, shape: Shape, target: str, sms: int) -> LaunchPlan:
        import torch

        from tutorlib.checking.cutile_launches import plan_of
        from tutorlib.problems.problem import torch_dtype

        tensors = [torch.zeros(spec.shape, dtype=torch_dtype(spec.dtype)) for spec in self.specs[shape]]
        try:
            return plan_of(host, tensors, target, sms)
        except (CompileFailed, NotImplementedError):
            raise
        except Exception as error:
            raise CompileFailed(f"while it ran: {type(error).__name__}: {error}") from error


# Sources -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SourceRequest(Request):
    """Of a function that returns a kernel's source. args: what it is called with. returns: its task, in words."""

    args: tuple[str, ...] = ()
    returns: str = "the source, a string"

    def made_of(self, answer: Answer) -> str:
        """Raises WrongKind if it returns no string, and Unwritten."""
        from tutorlib.checking.values import attempt

        if not callable(answer):
            raise WrongKind(f"{answer!r} is not a function that returns {self.returns}.")
        source, fault = attempt(answer, self.args)
        if fault:
            raise WrongKind(fault.what)
        if not isinstance(source, str):
            raise WrongKind(f"it should return {self.returns}; it returns {source!r}.")
        return source


def relocated(parameters: bytes, addresses: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Offset and value of each pointer among a recorded launch's parameters, for tensors at these addresses.

    A word that points into a made-up tensor is a pointer: a parameter, a member of a struct, or the first word of a TMA
    descriptor. sizes: of the tensors, in bytes. Raises CompileFailed where one leads out of its tensor.
    """
    for at in range(0, len(parameters) - 7, 8):
        tensor, offset = divmod(int.from_bytes(parameters[at : at + 8], "little") - FIRST, APART)
        if 0 <= tensor < len(sizes):
            if offset >= sizes[tensor]:
                raise CompileFailed("a pointer of its launch leads out of its tensors")
            yield at, addresses[tensor] + offset
