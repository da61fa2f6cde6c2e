"""Answers of page 10 that CuTe calls or compiles on the host, without a kernel of theirs."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from tutorlib.checking.answer import Served
from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.compiling.dsls import call_host

T = TypeVar("T")

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
