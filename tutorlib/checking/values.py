"""Exercises about what a function returns: laws, equalities, and the mistakes that they recognise."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tutorlib.checking.exercise import Answer, Exercise, Unwritten, Verdict, WrongKind, is_placeholder
from tutorlib.problems.wrong import Wrong, count


@dataclass(frozen=True)
class Case:
    """One thing that an answer must get right.

    name: what the case is about, as the reader sees it ("a nested mode").
    judge: takes the answer; returns None where it is right.
    """

    name: str
    judge: Callable[[Answer], Wrong | None]


@dataclass(frozen=True, kw_only=True)
class ValueExercise(Exercise):
    """An exercise whose answer is a function that any machine can call.

    cases: they share the points equally, so partial credit counts the cases that are right.
    """

    cases: tuple[Case, ...]

    def judge(self, answer: Answer) -> Verdict:
        """The message is about the first case that is wrong."""
        if not callable(answer):
            raise WrongKind(f"{answer!r} is not a function.")
        wrongs = [(case, wrong) for case in self.cases if (wrong := case.judge(answer)) is not None]
        right = len(self.cases) - len(wrongs)
        if not wrongs:
            return Verdict(self.points)
        case, wrong = wrongs[0]
        head = f"{right} of {count(len(self.cases), 'case')} right"
        lines = (head, f"{case.name}: {wrong.what}", *filter(None, [wrong.mistake]))
        return Verdict(self.points * right / len(self.cases), lines)


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people write, to be recognised by what it returns."""

    says: str
    answer: Answer


def show_call(answer: Answer, args: tuple) -> str:
    """The call as the reader would type it, cut where it is long."""
    shown = ", ".join(shorten(arg) for arg in args)
    return f"{getattr(answer, '__name__', 'your answer')}({shown})"


def shorten(value: Any, limit: int = 120) -> str:
    """A value as the reader writes it: layouts as shape:stride, arrays by their shape and strides, long ones cut."""
    if hasattr(value, "dtype") and getattr(value, "ndim", None):
        strides = value.strides if hasattr(value, "strides") else tuple(value.stride())
        return f"<{type(value).__name__} {value.dtype}, shape {tuple(value.shape)}, strides {strides}>"
    text = str(value).replace(" ", "") if hasattr(value, "stride") else repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def attempt(answer: Answer, args: tuple) -> tuple[Any, Wrong | None]:
    """Call the answer; an exception becomes a Wrong that names it and the line of the answer it came from."""
    try:
        return answer(*args), None
    except NotImplementedError as error:
        if is_placeholder(error):
            raise Unwritten from None
        return None, Wrong(f"{show_call(answer, args)} raised NotImplementedError: {error}")
    except Exception as error:
        return None, Wrong(f"{show_call(answer, args)} raised {type(error).__name__}: {error}{where(answer, error)}")


def where(answer: Answer, error: BaseException) -> str:
    """ " (line 4 of your answer)" where the traceback passes through the answer's own file."""
    code = getattr(answer, "__code__", None)
    line, step = None, error.__traceback__
    while step is not None:
        if code is not None and step.tb_frame.f_code.co_filename == code.co_filename:
            line = step.tb_lineno
        step = step.tb_next
    return f" (line {line} of your answer)" if line else ""


def law(name: str, calls: Iterable[tuple], holds: Callable[..., str | None], mistakes: Iterable[Mistake] = ()) -> Case:
    """A case that is right when `holds(got, *args)` is None for every argument tuple in `calls`.

    `holds` returns what the answer broke, as the end of a sentence: "its offset 3 is missing".
    """
    calls, mistakes = tuple(calls), tuple(mistakes)

    def judge(answer: Answer) -> Wrong | None:
        for args in calls:
            got, wrong = attempt(answer, args)
            if wrong is not None:
                return wrong
            if (broken := holds(got, *args)) is not None:
                what = f"{show_call(answer, args)} gives {shorten(got)}: {broken}."
                return Wrong(what, recognise(got, args, mistakes))
        return None

    return Case(name, judge)


def equals(name: str, calls: Iterable[tuple], wanted: Answer, mistakes: Iterable[Mistake] = ()) -> Case:
    """A case that is right when the answer returns `wanted(*args)` for every argument tuple in `calls`."""

    def holds(got: Any, *args: Any) -> str | None:
        want = wanted(*args)
        return None if same(got, want) else f"it should give {shorten(want)}"

    return law(name, calls, holds, mistakes)


def same(got: Any, want: Any) -> bool:
    """Equal and of the same kind: True is not 1, and an object whose == cannot be trusted is not equal."""
    if type(got) is not type(want):
        return False
    if isinstance(want, tuple | list):
        return len(got) == len(want) and all(same(g, w) for g, w in zip(got, want, strict=True))
    return bool(got == want)


def recognise(got: Any, args: tuple, mistakes: Iterable[Mistake]) -> str:
    """The sentence of the first known mistake that returns the same thing for these arguments, or ""."""
    for mistake in mistakes:
        try:
            looks_like = same(got, mistake.answer(*args))
        except Exception:  # a wrong answer may fail on arguments that the right one takes
            continue
        if looks_like:
            return mistake.says
    return ""
