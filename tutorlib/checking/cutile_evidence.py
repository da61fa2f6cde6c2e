"""Evidence of an answer that is a cuTile kernel, or a host function that launches some: see `evidence`.

The process of the answer interprets its launches, with a GPU of a few SMs in torch's place, and writes them down, so
that the judge can compile and carry them out.
"""

import ctypes
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.checking.answer import Answer, WrongKind, need_callable
from tutorlib.checking.evidence import Request, Specs, made_or_why, used
from tutorlib.checking.part import Part
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import ALIGNED
from tutorlib.dsl.functions import function_of, opt_level
from tutorlib.failure import Fail, Flaw, failures_in
from tutorlib.problems.problem import Problem, Shape, torch_dtype

if TYPE_CHECKING:
    import cuda.tile as ct
    from torch import Tensor

    from tutorlib.simulate.cutile import TileReport
At = tuple[str, Shape]  # a problem's name, and a size of it
Trial = tuple[tuple[int, ...], tuple[Any, ...]]  # of a @ct.kernel: its grid, and its arguments after the tensors
Calls = tuple["tuple[Tensor, ...]", ...]  # the tensors of each call: inputs of the judge's, and a poisoned output


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A tensor in one of the memories of a plan. start: its first byte there."""

    memory: int
    start: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def within(self, memories: "list[Tensor]") -> "Tensor":
        """Raises RuntimeError where it reaches beyond its memory."""
        import torch

        dtype, memory = getattr(torch, self.dtype), memories[self.memory][self.start :]
        whole = memory[: len(memory) // dtype.itemsize * dtype.itemsize]
        return whole.view(dtype).as_strided(self.shape, self.strides)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A launch of Tile IR. args: all of the kernel's. constants: the numbers of those that are compiled in."""

    tile_ir: bytes
    opt_level: int
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    constants: tuple[int, ...]

    @property
    def taken(self) -> tuple[Placed | float, ...]:
        """The arguments that are passed."""
        return tuple(arg for n, arg in enumerate(self.args) if n not in self.constants)


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """Launches of cuTile kernels, in order. memories: those that a host function allocated beside the problem's
    tensors, as bytes.
    """

    launches: tuple[Planned, ...]
    memories: tuple[bytes, ...]

    def laid_out(self, tensors: "tuple[Tensor, ...]") -> "list[Tensor]":
        """The memories as bytes: the tensors' own, and new ones beside them."""
        import torch

        own = [tensor.view(-1).view(torch.uint8) for tensor in tensors]
        made = (torch.frombuffer(bytearray(raw), dtype=torch.uint8) for raw in self.memories)
        return [*own, *(one.to(tensors[0].device) for one in made)]


@dataclass(frozen=True, kw_only=True)
class Interpreted:
    """A call that was interpreted, block by block.

    output: poison where nothing was stored. changed: the inputs that differ afterwards, by number. raised: by the call.
    """

    output: "Tensor | None" = None
    changed: tuple[int, ...] = ()
    reports: "tuple[TileReport, ...]" = ()
    raised: str = ""


@dataclass(frozen=True, kw_only=True)
class TileEvidence:
    """Of a @ct.kernel, or of a host function that launches some.

    plans: by problem and size, target ("sm_90") and number of the GPU's SMs. file, lines: a kernel's source. calls: as
    the judge asked for.
    """

    plans: Mapping[tuple[At, str, int], LaunchPlan | Exception] = field(default_factory=dict)
    interpreted: Mapping[At, tuple[Interpreted, ...] | Exception] = field(default_factory=dict)
    file: str = ""
    lines: tuple[str, ...] = ()
    calls: Mapping[At, Calls] = field(default_factory=dict)

    def tried(self, problem: Problem, shape: Shape) -> tuple[Calls, tuple[Interpreted, ...]]:
        """The calls at this size, and what they did. Raises as `used`."""
        at = problem.name, shape
        return self.calls[at], used(self.interpreted[at])

    def reports(self, problem: Problem, shape: Shape) -> "tuple[TileReport, ...]":
        """Of the last call's launches."""
        return self.tried(problem, shape)[1][-1].reports


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
        interpreted = {at: made_or_why(self.interpreted, made, at) for at in self.calls}
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

    def interpreted(self, made: Any, at: At) -> tuple[Interpreted, ...]:
        return tuple(interpret(self.host(made, at), tensors) for tensors in self.calls[at])

    def planned(self, host: Answer, at: At, target: str, sms: int) -> LaunchPlan:
        import torch

        tensors = [torch.empty(spec.shape, dtype=torch_dtype(spec.dtype)) for spec in self.specs[at]]
        try:
            return plan_of(host, tensors, target, sms)
        except (CompileFailed, NotImplementedError):
            raise
        except Exception as error:
            raise CompileFailed(f"while it ran: {type(error).__name__}: {error}") from error


def interpret(host: Answer, tensors: "tuple[Tensor, ...]") -> Interpreted:
    """The call on copies of these tensors. Raises CompileFailed, NotSimulated and a placeholder's error."""
    from tutorlib.compiling.dsls import refusals
    from tutorlib.simulate.stand_in.tiles import launches_interpreted

    *inputs, output = (tensor.clone() for tensor in tensors)
    try:
        with refusals(), launches_interpreted() as reports:
            host(*inputs, output)
    except (CompileFailed, NotImplementedError):
        raise
    except Exception as error:
        name = type(error).__name__
        raised = Flaw(f"while it ran: {name}: {error}", Fail.RAISED(error=name), *failures_in(error.args))
        return Interpreted(raised=raised)
    pairs = enumerate(zip(tensors[:-1], inputs, strict=True))
    return Interpreted(
        output=output,
        changed=tuple(n for n, (before, after) in pairs if not before.equal(after)),
        reports=tuple(reports),
    )


def plan_of(host: Callable[..., None], tensors: "Sequence[Tensor]", target: str, sms: int) -> LaunchPlan:
    """The launches of a host function called on these tensors, whose values do not matter: nothing runs, and another
    process can carry the launches out. Raises CompileFailed, and what the host function and ct.launch raise.
    """
    import torch

    from tutorlib.compiling.dsls import exported
    from tutorlib.simulate.cutile.run import constraint, parameters
    from tutorlib.simulate.stand_in.tiles import launches_to

    storages = [tensor.untyped_storage() for tensor in tensors]
    memories: list[bytes] = []
    launches: list[Planned] = []

    def typed(constant: bool, arg: Any) -> Any:
        """The argument's type for the compiler: what ct.launch would find."""
        aligned = isinstance(arg, torch.Tensor) and arg.data_ptr() % ALIGNED == 0
        return constraint(constant, arg, ALIGNED if aligned else 1)

    def placed(arg: Any) -> Any:
        if not isinstance(arg, torch.Tensor):
            return arg
        storage = arg.untyped_storage()
        starts = [one.data_ptr() for one in storages]  # these are kept, and no other storage has one of them
        if storage.data_ptr() not in starts:
            storages.append(storage)
            starts.append(storage.data_ptr())
            memories.append(ctypes.string_at(storage.data_ptr(), storage.nbytes()))
        return Placed(
            memory=starts.index(storage.data_ptr()),
            start=arg.data_ptr() - storage.data_ptr(),
            dtype=str(arg.dtype).removeprefix("torch."),
            shape=tuple(arg.shape),
            strides=tuple(arg.stride()),
        )

    def take(kernel: "ct.kernel", grid: tuple[int, ...], args: tuple[Any, ...], current: bool) -> None:
        each = list(zip(parameters(kernel).values(), args, strict=True))
        compiled_in = (constant and not isinstance(arg, torch.Tensor) for constant, arg in each)
        launches.append(
            Planned(
                tile_ir=exported(kernel, [typed(*one) for one in each], target, "tileir_bytecode"),
                opt_level=opt_level(kernel, target),
                grid=tuple(grid),
                args=tuple(map(placed, args)),
                constants=tuple(n for n, is_one in enumerate(compiled_in) if is_one),
            )
        )

    with launches_to(take, sms):
        host(*tensors)
    return LaunchPlan(launches=tuple(launches), memories=tuple(memories))
