"""What an exercise is, and how an answer to it is graded."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["passed", "partial", "failed", "not_run", "error", "timeout"]
Answer = Callable[..., Any]


@dataclass(frozen=True)
class Wrong:
    """Why a case failed, in sentences for the reader.

    what: which call, what it should give and what it gave.
    mistake: the likely cause, where one is known.
    """

    what: str
    mistake: str = ""


@dataclass(frozen=True)
class Case:
    """One thing that an answer must get right.

    name: what the case is about, as the reader sees it ("a nested mode").
    judge: takes the answer; returns None where it is right.
    """

    name: str
    judge: Callable[[Answer], Wrong | None]


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people write, to be recognised by what it returns."""

    says: str
    answer: Answer


@dataclass(frozen=True)
class Outcome:
    """What grading one exercise gave. `message` is for the reader, several lines where it failed."""

    id: str
    title: str
    status: Status
    points: float
    max_points: int
    message: str
    measurement: dict[str, Any] | None = None


class Unwritten(Exception):
    """The answer still holds the placeholder that `tutor build` put there."""


def is_placeholder(error: NotImplementedError) -> bool:
    """Whether `tutor build` put this error there in place of an answer."""
    return str(error).startswith("Exercise ")


@dataclass(frozen=True)
class Exercise:
    """An exercise of the course.

    id: "02.3", the third exercise of notebook 02.
    points: whole; shared equally among the cases, so partial credit counts the cases that are right.
    needs: "cpu" where any machine grades it, else the sm_ family that runs it ("80", "90", "100").
    hints: from a nudge to nearly the answer.
    """

    id: str
    title: str
    points: int
    cases: tuple[Case, ...]
    hints: tuple[str, ...] = field(default=())
    needs: str = "cpu"

    @property
    def passed_line(self) -> str:
        """What `check` prints for a right answer, the same every time."""
        return f"✓ {self.id} {self.title}: {count(self.points, 'point')}"

    def outcome(self, status: Status, points: float, message: str) -> Outcome:
        return Outcome(self.id, self.title, status, points, self.points, message)

    def grade(self, answer: Answer) -> Outcome:
        """Judge the answer by every case. Points are rounded down to a half."""
        if not callable(answer):
            return self.outcome("failed", 0, f"✗ {self.id} {self.title}: {answer!r} is not a function.")
        try:
            wrongs = [(case, wrong) for case in self.cases if (wrong := case.judge(answer)) is not None]
        except Unwritten:
            return self.outcome("failed", 0, f"✗ {self.id} {self.title}: not written yet")
        if not wrongs:
            return self.outcome("passed", self.points, self.passed_line)
        right = len(self.cases) - len(wrongs)
        case, wrong = wrongs[0]
        lines = [f"✗ {self.id} {self.title}: {right} of {count(len(self.cases), 'case')} right"]
        lines += [f"  {case.name}: {wrong.what}"]
        lines += [f"  {wrong.mistake}"] if wrong.mistake else []
        points = int(2 * self.points * right / len(self.cases)) / 2
        return self.outcome("partial" if points else "failed", points, "\n".join(lines))


def count(n: float, thing: str) -> str:
    """count(1, "point") is "1 point", count(0.5, "point") is "0.5 points"."""
    return f"{n:g} {thing}{'' if n == 1 else 's'}"


def show_call(answer: Answer, args: tuple) -> str:
    """The call as the reader would type it, cut where it is long."""
    shown = ", ".join(shorten(arg) for arg in args)
    return f"{getattr(answer, '__name__', 'your answer')}({shown})"


def shorten(value: Any, limit: int = 120) -> str:
    """A value as the reader writes it: layouts as shape:stride, arrays by their shape and strides, long ones cut."""
    if hasattr(value, "dtype") and getattr(value, "ndim", 0):
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
