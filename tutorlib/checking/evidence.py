"""Evidence of an answer that is a kernel: plain data, made by one call in the process of the answer.

A judge says in a Request which sizes and GPUs it will look at. `evidence_of` compiles the kernel for them, records what
its host function launches and, of cuTile, interprets it. A notebook's check asks in its own process, the grader the
student's. No machine code crosses: the judge compiles PTX and Tile IR itself, then simulates or launches it, with
inputs and a clock of its own. An entry that could not be made is the exception that says why: see `used`. What a forger
sends in the place of evidence fails somewhere in the judge, which costs the answer its points.
"""

import ctypes
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tutorlib.checking.answer import Answer, Served, WrongKind, need_callable
from tutorlib.checking.library_use import Told, refuse_library_use
from tutorlib.checking.part import Part, require_jit
from tutorlib.checking.values import attempt
from tutorlib.compiling.errors import CompileFailed, first_cause
from tutorlib.compiling.spec import DTYPES, TensorSpec
from tutorlib.failure import Fail, Flaw
from tutorlib.machine.features import cute_target
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.ptx.findings import SourceLine

T = TypeVar("T")
Specs = tuple[TensorSpec, ...]  # of a problem's tensors at a size, the output last
FIRST, APART = 2**45, 2**36  # the address that is made up for the first tensor of a launch, and how far the next is


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


def used(found: T | Exception) -> T:
    """The entry. Raises what stands in its place."""
    if isinstance(found, Exception):
        raise found.with_traceback(None)
    return found


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


# CuTe ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RecordedLaunch:
    """A launch of a host function on tensors at made-up addresses: tensor n lies at FIRST + n · APART."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_smem: int
    parameters: bytes
    cluster: tuple[int, int, int]
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

    looked: points and lines of the part's verdict on the answer by itself. codes: by size and compute capability, ""
    for the simulator.
    """

    looked: tuple[float, tuple[str, ...]] | None = None
    codes: Mapping[tuple[Shape, str], CuteCode | Exception] = field(default_factory=dict)

    def at(self, shape: Shape, arch: str = "") -> CuteCode:
        """Raises as `used`."""
        return used(self.codes[shape, arch])


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
    examined: tuple[Shape, str]
    simulated: tuple[Shape, ...] = ()
    run: tuple[Shape, ...] = ()
    target: str = "sm_80"

    def made_of(self, answer: Answer) -> CuteEvidence:
        looked = self.part.look(answer, self.points)
        told = (float(looked.points), looked.lines) if looked else None
        if told and not told[0]:
            return CuteEvidence(looked=told)
        host = require_jit(self.part.host(answer))
        wanted = {**dict.fromkeys(((shape, self.arch) for shape in self.run), host), self.examined: host}
        wanted |= {(shape, ""): self.part.simulated_host(answer, shape) for shape in self.simulated}
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
        if ".entry" not in made.ptx:
            raise CompileFailed(Flaw("it launches no kernel", Fail.LAUNCHES_NOTHING))
        if arch:
            launches = self.launches(made, shape, self.sms) if shape in self.run else ()
            return CuteCode(ptx=made.ptx, smem_bytes=made.smem_bytes, launches=launches)
        places = tuple(map(place_of, made.stacks.stacks))
        return CuteCode(ptx=made.ptx, launches=self.launches(made, shape, SMS), places=places)

    def launches(self, made: Any, shape: Shape, sms: int) -> tuple[RecordedLaunch, ...]:
        from tutorlib.compiling.dsls import cute_arguments
        from tutorlib.simulate.ptx.languages.cute import record_launches
        from tutorlib.simulate.ptx.parse import parse_ptx

        tensors = [tensor_at(FIRST + n * APART, spec) for n, spec in enumerate(self.specs[shape])]
        found = record_launches(made.function, parse_ptx(made.ptx), cute_arguments(tensors, self.dynamic), sms)
        names = RecordedLaunch.__annotations__
        return tuple(
            RecordedLaunch(**{name: getattr(one, name) for name in names} | {"kernel": one.kernel.name})
            for one in found
        )


def tensor_at(address: int, spec: TensorSpec) -> "Tensor":
    """A tensor at a made-up address: it must not be read."""
    import torch

    kind, count = DTYPES[spec.dtype], math.prod(spec.shape)
    memory = (ctypes.c_uint8 * max(count * kind.bytes, 1)).from_address(address)
    flat = torch.frombuffer(memory, dtype=getattr(torch, kind.torch), count=count)
    return flat.as_strided(spec.shape, spec.strides)
