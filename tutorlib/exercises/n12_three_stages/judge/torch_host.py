"""12.6: a Python function of torch tensors a, b and c, which wraps them, compiles once for each shape, and launches."""

import re
from dataclasses import dataclass
from inspect import unwrap
from typing import TYPE_CHECKING, Any

from tutorlib.checking.compile_calls import (
    CompiledBefore,
    Requested,
    WithoutCompile,
    argument_in_words,
    compile_requests,
)
from tutorlib.checking.exercise import Answer, Verdict, WrongKind, is_placeholder, wrong
from tutorlib.checking.part import HostFunction, Part, need_callable
from tutorlib.checking.served import place_in
from tutorlib.compiling.compiled import Compiled
from tutorlib.dsl.cute.functions import is_jit
from tutorlib.exercises.n12_three_stages.judge.whole_kernel import in_raster, out_of_order
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.problems.catalogue import gemm_m_major
from tutorlib.problems.problem import Shape
from tutorlib.problems.wrong import by

if TYPE_CHECKING:
    from torch import Tensor

PROBLEM = gemm_m_major("bf16")
TRIED = (768, 1280, 448)  # as no reader has compiled for
OTHERS = ((896, 1280, 448), (768, 1792, 448), (768, 1280, 576), (1280, 768, 448))  # the last exchanges M and N
TALL = (4608, 512, 64)  # more rows of tiles than L2 needs groups for
WIDEST = 16  # bytes of a copy
COPIED = re.compile(r"cp\.async\.c[ag]\.shared\.global\S* \[[^]]*\], \[[^]]*\], (\d+)")


class HostFlaw(FailureKind):
    """What is wrong with a host function of torch tensors."""

    NOT_COMPILED = "not compiled"
    ARGUMENTS = "arguments"
    DYNAMIC = "dynamic sizes"
    ALIGNMENT = "alignment"
    NOT_CALLED = "not called"
    OTHER_TENSORS = "other tensors"
    OTHER_SHAPE = "compiled for another shape"
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
        raster = in_raster(names) or out_of_order(self.host(answer), PROBLEM, TALL, names["in_groups"])
        return Verdict(points - 1, (raster,)) if raster else None

    def lacks(self, compiled: Compiled) -> str:
        if (least := min(map(int, COPIED.findall(compiled.ptx)), default=WIDEST)) == WIDEST:
            return ""
        what = f"it has cp.async of {least} bytes; copies of {WIDEST} need {WIDEST // least} times fewer instructions."
        return Flaw(what, HostFlaw.NARROW)


def first_flaw(answer: Answer, shape: Shape, requests: list[Requested]) -> str:
    """The first flaw in what the answer compiles and calls for tensors of this shape, or "".

    requests: the list that the surrounding `compile_requests` fills.
    """
    tensors = tensors_of(shape)
    versions = [tensor._version for tensor in tensors]
    known, before = len(requests), [len(one.calls or ()) for one in requests]
    try:
        answer(*tensors)
    except WithoutCompile as error:
        what = f"it calls {error} itself. Compile it with cute.compile, keep the result, and call that."
        return Flaw(what, HostFlaw.NOT_COMPILED)
    except CompiledBefore:
        what = f"at {by(shape)} it has kept a kernel from before. Run its cell once more, then this check."
        return Flaw(what, HostFlaw.OTHER_SHAPE)
    except Exception as error:
        if isinstance(error, NotImplementedError) and is_placeholder(error):
            raise
        said = str(error).strip().partition("\n")[0]
        what = f"called at {by(shape)}, it raises {type(error).__name__}: {said}{place_in(answer, error)}."
        return Flaw(what, Fail.RAISED(error=type(error).__name__))
    if flaw := next(filter(None, (bad_request(request) for request in requests[known:])), ""):
        return flaw
    for name, tensor, version in zip("abc", tensors, versions, strict=True):
        if tensor._version != version:
            what = f"called at {by(shape)}, it writes to {name} with torch, too; the kernel alone should write, to c."
            return Flaw(what, HostFlaw.BY_TORCH)
    before += [0] * (len(requests) - known)
    calls = [(one, call) for one, n in zip(requests, before, strict=True) for call in (one.calls or [])[n:]]
    if len(calls) != 1:
        what = "compiles, and does not call the result" if not calls else f"launches {len(calls)} times"
        return Flaw(f"called at {by(shape)}, it {what}; it should launch once.", HostFlaw.NOT_CALLED)
    ((request, args),) = calls
    padded = (*args, None, None, None)  # it may be called with fewer
    for name, argument, tensor, passed in zip("abc", request.arguments, tensors, padded, strict=False):
        made_for, wanted = (tuple(argument.shape), tuple(argument.stride)), (tuple(tensor.shape), tensor.stride())
        if made_for != wanted:
            what = f"called at {by(shape)}, it launches what it compiled for {name} as {as_layout(*made_for)}"
            return Flaw(f"{what}; this one is {as_layout(*wanted)}.", HostFlaw.OTHER_SHAPE)
        if address_of(passed) != tensor.data_ptr():
            return Flaw(f"called again with other tensors, it launches on another {name}.", HostFlaw.OTHER_TENSORS)
    return ""


def tensors_of(shape: Shape) -> "list[Tensor]":
    import torch

    shapes = ((op, PROBLEM.shape_of(op, shape)) for op in PROBLEM.operands)
    return [op.laid_out(torch.zeros(size, dtype=torch.bfloat16)) for op, size in shapes]


def bad_request(request: Requested) -> str:
    """The flaw of a request to compile, or ""."""
    from cutlass import BFloat16, cute

    if not is_jit(request.host):
        name = getattr(request.host, "__name__", repr(request.host))
        return Flaw(f"{name}, which it compiles, is not a @cute.jit function.", Fail.NOT_JIT)
    tensors = request.arguments[:3]
    if len(tensors) < 3 or not all(isinstance(one, cute.Tensor) and cute.rank(one) == 2 for one in tensors):
        return Flaw("it should compile for three matrices: a, b and c, wrapped, come first.", HostFlaw.ARGUMENTS)
    for name, one in zip("abc", tensors, strict=True):
        told = argument_in_words(one)
        if one.element_type is not BFloat16:
            return Flaw(f"{name} is compiled as {told['dtype']}; it is BFloat16.", HostFlaw.ARGUMENTS)
        if not all(isinstance(n, int) for n in (*told["shape"], *told["stride"])):
            what = f"{name}'s layout is dynamic: the tiles then need predicates. Compile for each shape."
            return Flaw(what, HostFlaw.DYNAMIC)
        if (told["align"] or 2) % WIDEST:
            what = f"{name} is wrapped as aligned to {told['align'] or 2} bytes; copies of {WIDEST} need {WIDEST}."
            return Flaw(what, HostFlaw.ALIGNMENT)
    return ""


def address_of(passed: Any) -> int | None:
    """Of a torch tensor, or of one that is wrapped; None for anything else."""
    found = getattr(passed, "data_ptr", None)
    return found() if callable(found) else found


def as_layout(shape: tuple[int, ...], stride: tuple[int, ...]) -> str:
    return f"{shape}:{stride}".replace(" ", "")
