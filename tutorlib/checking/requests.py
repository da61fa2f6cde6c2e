"""Requests for evidence of a kernel, and how the process of the answer makes it.

A judge says in a Request which sizes and GPUs it will look at. `evidence_of` compiles the kernel for them, records what
its host function launches and, of cuTile, interprets it.
"""

import ctypes
import linecache
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from tutorlib.checking.answer import Answer, Served, WrongKind, need_callable
from tutorlib.checking.evidence import (
    APART,
    FIRST,
    At,
    Calls,
    CuteCode,
    CuteEvidence,
    Interpreted,
    LaunchPlan,
    RecordedLaunch,
    TileEvidence,
)
from tutorlib.checking.library_use import Told, refuse_library_use
from tutorlib.checking.part import Part, require_jit
from tutorlib.checking.values import attempt
from tutorlib.compiling.errors import CompileFailed, first_cause
from tutorlib.compiling.spec import DTYPES, TensorSpec
from tutorlib.dsl.functions import function_of
from tutorlib.failure import Fail, Flaw, failures_in
from tutorlib.machine.features import cute_target
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
Trial = tuple[tuple[int, ...], tuple[Any, ...]]  # of a @ct.kernel: its grid, and its arguments after the tensors
Specs = tuple[TensorSpec, ...]  # of a problem's tensors at a size, the output last
LAUNCH = ("grid", "block", "dynamic_smem", "parameters", "cluster", "cooperative", "overlapping")  # of a RecordedLaunch


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a judge wants to know of an answer. library: what the answer may not name.

    arch, sms: of the GPU at hand, for which what is `run` is compiled; "" and 0 for none.
    """

    library: Told = field(default_factory=dict)
    arch: str = ""
    sms: int = 0

    def made_of(self, answer: Answer) -> Any:
        """The evidence of an answer that names nothing of the library. Raises WrongKind and CompileFailed."""
        raise NotImplementedError


def evidence_of(served: Served, request: Request) -> Any:
    """The one question of a judge about a kernel."""
    refuse_library_use(served.answer, request.library)
    return request.made_of(served.answer)


def made_or_why(make: Callable[..., T], *args: Any) -> T | Exception:
    """What this makes, or the exception that says why nothing can be made. A placeholder's error passes through."""
    from tutorlib.simulate.ptx import CannotLaunch, NotSimulated

    try:
        return make(*args)
    except CompileFailed as failed:
        refused = first_cause(failed, WrongKind)
        return refused if isinstance(refused, WrongKind) else failed
    except (CannotLaunch, NotSimulated, WrongKind) as error:
        return error


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
        small = self.part.simulated_host(answer) if self.simulated else host
        wanted = dict.fromkeys(((shape, self.arch) for shape in self.run), host)
        wanted |= {self.examined: host} if self.examined else {}
        wanted |= dict.fromkeys(((shape, "") for shape in self.simulated), small)
        compiled: dict[Any, Any] = {}  # by size and GPU; where sizes are dynamic, by GPU
        codes = {key: made_or_why(self.code, host, *key, compiled) for key, host in wanted.items()}
        return CuteEvidence(looked=told, codes=codes)

    def code(self, host: Answer, shape: Shape, arch: str, compiled: dict[Any, Any]) -> CuteCode:
        """arch: "" for the simulator, with the lines of the reader's source. Raises CompileFailed."""
        from tutorlib.compiling.dsls import compile_cute
        from tutorlib.simulate.ptx.languages.cute import SMS, compile_with_lines, place_of

        key, specs = (() if self.dynamic else shape, arch), self.specs[shape]
        if key not in compiled:
            compiled[key] = (
                compile_cute(host, specs, cute_target(arch)) if arch else compile_with_lines(host, specs, self.target)
            )
        made = compiled[key]
        if arch:
            launches = self.launches(made, shape, self.sms) if shape in self.run else ()
            return CuteCode(ptx=made.ptx, smem_bytes=made.smem_bytes, launches=launches)
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
            RecordedLaunch(kernel=one.kernel.name, **{name: getattr(one, name) for name in LAUNCH}) for one in found
        )


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


@dataclass(frozen=True, kw_only=True)
class TileRequest(Request):
    """Of a @ct.kernel, or of a host function that launches some. part: finds it in the answer.

    trials: how a kernel is launched; None of a host function. plans: what is compiled, by problem and size, target and
    number of SMs. specs: of the tensors there. calls: those that are interpreted.
    """

    part: Part = field(default_factory=Part)
    trials: Mapping[At, Trial] | None
    specs: Mapping[At, Specs]
    plans: tuple[tuple[At, str, int], ...]
    calls: Mapping[At, Calls] = field(default_factory=dict)

    def made_of(self, answer: Answer) -> TileEvidence:
        import cuda.tile as ct

        made, file = self.part.host(answer), ""
        if self.trials is None:
            if isinstance(made, ct.kernel):
                raise WrongKind("that is the kernel; the exercise asks for the Python function that launches it.")
            need_callable(made)
        elif isinstance(made, ct.kernel):
            file = function_of(made).__code__.co_filename
        else:
            raise WrongKind(f"{getattr(answer, '__name__', repr(answer))} is not a @ct.kernel function.")
        accepted: list[Any] = []
        interpreted = {at: made_or_why(self.interpreted, self.host(made, at), at, accepted) for at in self.calls}
        plans = {key: made_or_why(self.planned, self.host(made, key[0]), *key) for key in self.plans}
        return TileEvidence(plans=plans, interpreted=interpreted, file=file, lines=tuple(linecache.getlines(file)))

    def host(self, made: Any, at: At) -> Callable[..., None]:
        """The host function, or one that launches the kernel."""
        import cuda.tile as ct
        import torch

        if self.trials is None:
            return made
        grid, constants = self.trials[at]
        return lambda *tensors: ct.launch(torch.cuda.current_stream(), grid, made, (*tensors, *constants))

    def interpreted(self, host: Answer, at: At, accepted: list[Any]) -> tuple[Interpreted, ...]:
        return tuple(interpreted(host, tensors, accepted) for tensors in self.calls[at])

    def planned(self, host: Answer, at: At, target: str, sms: int) -> LaunchPlan:
        import numpy as np
        import torch

        from tutorlib.checking.cutile_launches import plan_of
        from tutorlib.problems.problem import torch_dtype

        tensors = []
        for spec in self.specs[at]:
            memory = torch.from_numpy(np.zeros(math.prod(spec.shape) * DTYPES[spec.dtype].bytes, np.uint8))
            tensors.append(memory.view(torch_dtype(spec.dtype)).view(spec.shape))  # no page of it exists so far
        try:
            return plan_of(host, tensors, target, sms)
        except (CompileFailed, NotImplementedError):
            raise
        except Exception as error:
            raise CompileFailed(f"while it ran: {type(error).__name__}: {error}") from error


def interpreted(host: Answer, tensors: "tuple[Tensor, ...]", accepted: list[Any]) -> Interpreted:
    """The call on copies of these tensors. Raises CompileFailed, NotSimulated and a placeholder's error."""
    from tutorlib.checking.cutile_launches import launches_interpreted
    from tutorlib.compiling.dsls import refusals

    *inputs, output = (tensor.clone() for tensor in tensors)
    try:
        with refusals(), launches_interpreted(accepted=accepted) as launched:
            host(*inputs, output)
    except (CompileFailed, NotImplementedError):
        raise
    except Exception as error:
        name = type(error).__name__
        raised = Flaw(f"while it ran: {name}: {error}", Fail.RAISED(error=name), *failures_in(error.args))
        return Interpreted(raised=raised)
    reports = [one.report for one in launched]
    pairs = enumerate(zip(tensors[:-1], inputs, strict=True))
    return Interpreted(
        output=output,
        changed=tuple(n for n, (before, after) in pairs if not before.equal(after)),
        reports=tuple(replace(one, loaded=dict(one.loaded), largest=dict(one.largest)) for one in reports),
        current=all(one.current for one in launched),
    )


@dataclass(frozen=True, kw_only=True)
class SourceRequest(Request):
    """Of a function that returns a kernel's source. args: what it is called with. returns: its task, in words."""

    args: tuple[str, ...] = ()
    returns: str = "the source, a string"

    def made_of(self, answer: Answer) -> str:
        """Raises WrongKind if it returns no string, and Unwritten."""
        source, fault = attempt(need_callable(answer, f"that returns {self.returns}"), self.args)
        if fault:
            raise WrongKind(fault.what)
        if not isinstance(source, str):
            raise WrongKind(f"it should return {self.returns}; it returns {source!r}.")
        return source
