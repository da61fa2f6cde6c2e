"""Answers of pages 05 and 10 that CuTe calls or compiles on the host, without a kernel of theirs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from tutorlib.checking.answer import Served
from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.checking.part import Part, require_jit
from tutorlib.compiling.dsls import call_host, compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.failure import Fail, Flaw

T = TypeVar("T")
FP32 = TensorSpec((128, 128), "fp32")

# 05.2: copies of elements of any size -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AnyElement(Part):
    """A host function that has to compile for fp32 as well."""

    def look(self, answer: Answer, points: float) -> Verdict | None:
        require_jit(answer)
        try:
            compile_cute(answer, [FP32] * 2)
        except CompileFailed:
            what = "right for bf16; for fp32 it does not compile: is bf16's 8, or the type itself, written out?"
            mends = "128 bits are 8 elements of bf16, and 4 of fp32: write both layouts with `vector`."
            return Verdict(points / 2, (Flaw(what, Fail.DOES_NOT_COMPILE), mends), "partial", explained=True)
        return None


# Answers that make CuTe's own objects, examined while CuTe traces a function ------------------------------------------


def in_cute(look: Callable[[], T]) -> T:
    """The result of a function called inside a trace, where layouts can be made. Raises as `call_host` does."""
    from cutlass import cute

    seen: list[T] = []

    @cute.jit
    def host() -> None:
        seen.append(look())

    call_host(host)
    return seen[-1]


def layout_returned(served: Served, *args: Any) -> Any:
    """The CuTe layout that the answer makes, as one of tensor_layouts."""
    return seen_as_layout(served)(*args)


def seen_as_layout(answer: Answer) -> Answer:
    """The function with CuTe's layouts turned into those of tensor_layouts. It raises what the answer raises."""
    from cutlass import cute
    from tensor_layouts import is_layout

    from tutorlib.layouts.oracle import from_cute

    def look(*args: Any) -> tuple[Any, Exception | None]:
        try:
            got = answer(*args)
            if is_layout(got):
                raise WrongKind("it returns a Layout of tensor_layouts; the kernel needs CuTe's: cute.make_layout.")
            return (from_cute(got) if isinstance(got, cute.Layout) else got), None
        except Exception as error:
            return None, error

    @wraps(answer)
    def call(*args: Any) -> Any:
        got, error = in_cute(lambda: look(*args))
        if error:
            raise error
        return got

    return call
