"""The layout algebra of the real CuTe DSL, asked on the CPU: an oracle for tests and checks.

    >>> ask([("logical_divide", Layout((8, 4), (4, 1)), (2, 2)), ("cosize", Layout(4, 2))])
    [Layout(((2, 4), (2, 2)), ((4, 8), (1, 2))), 7]

CuTe works static layouts out while it traces a function, so the answers are there before anything is compiled
or run, and no GPU is needed. cutlass is imported by the first question (1 to 3 s); after that a batch of fifty
takes some 20 ms.
"""

from ast import literal_eval
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from tensor_layouts import Layout, size

Question = tuple[Any, ...]  # the name of a function of cutlass.cute, then its arguments


@dataclass(frozen=True)
class Refused:
    """CuTe's answer to a question that it refuses. why: the first informative line of its message."""

    why: str


Answer: TypeAlias = Layout | int | tuple | Refused


def ask(questions: Iterable[Question]) -> list[Answer]:
    """CuTe's answers to ("composition", a, b), ("coalesce", a), ("crd2idx", (1, 2), a), …, in one trace.

    Arguments are Layouts, ints and tuples of these; so a tiler is 4, (2, 2) or (Layout(2, 4), 2). A question that CuTe
    refuses gets Refused and costs the others nothing; so does one that is known to end the process
    (`divides_by_zero`), which is not asked.
    """
    answers = list[Answer]()
    trace()(tuple(questions), answers)
    return answers


@cache
def trace() -> Callable[[tuple[Question, ...], list[Answer]], None]:
    """The traced function: takes the questions and appends their answers to a list."""
    import cutlass
    from cutlass import cute

    def to_cute(value: Any) -> Any:
        if isinstance(value, Layout):
            return cute.make_layout(value.shape, stride=value.stride)
        if isinstance(value, tuple):
            return tuple(to_cute(item) for item in value)
        return value

    def complement(layout: Any) -> Any:
        return cute.complement(layout, cute.cosize(layout))

    def answer(name: str, *args: Any) -> Answer:
        try:
            function = getattr(cute, name)
            if any(divides_by_zero(from_cute(complement(to_cute(part)))) for part in complemented(name, args)):
                return Refused("its complement has an extent of 0; CuTe would divide by it and end the process")
            return from_cute(function(*(to_cute(arg) for arg in args)))
        except Exception as error:  # MLIRError, ValueError, TypeError …: CuTe has no common class for refusals
            return Refused(reason(error))

    @cute.jit
    def answer_all(questions: cutlass.Constexpr, answers: cutlass.Constexpr) -> None:
        answers.extend(answer(*question) for question in questions)

    return answer_all


def complemented(name: str, args: tuple) -> list[Layout]:
    """The layouts whose complement CuTe takes: the tiles of a division, the block of a product."""
    place = {"divide": 1, "product": 0}.get(name.rpartition("_")[2])
    return [] if place is None else layouts_in(args[place])


def layouts_in(value: Any) -> list[Layout]:
    """A layout itself, or those in a nested tuple."""
    if isinstance(value, tuple):
        return [layout for part in value for layout in layouts_in(part)]
    return [value] if isinstance(value, Layout) else []


def divides_by_zero(complement: Layout) -> bool:
    """Whether dividing or multiplying with this complement ends the process with SIGFPE, as CuTe 4.8.1 does.

    Where the modes of a layout get in each other's way, as in (4,2):(1,2), its complement has an extent of 0.
    """
    return size(complement) == 0


def from_cute(value: Any) -> Answer:
    """A static result as plain Python; layouts come as text, "(4,(2,3)):(1,(4,8))"."""
    if isinstance(value, int | tuple):
        return value
    shape, stride = str(value).split(":")
    return Layout(literal_eval(shape), literal_eval(stride))


def reason(error: Exception) -> str:
    """The line of an MLIR message that names the error: "unable to compute the following composition: …"."""
    lines = [line.removeprefix("error: unknown: ").strip() for line in str(error).splitlines()]
    telling = [line for line in lines if line and not line.endswith("failed:")]
    return telling[0] if telling else type(error).__name__
