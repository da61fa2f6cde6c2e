"""Exercises whose answer is a function: laws and equalities of its results, and the known mistakes they recognize."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial, update_wrapper
from typing import Any

from tutorlib.checking.answer import Answer, AnswerQuestion, Served, WrongKind, is_placeholder, place_in
from tutorlib.checking.exercise import Exercise, Verdict
from tutorlib.checking.library_use import Library, as_told, names_none_of
from tutorlib.checking.randomness import Drawn, for_points, fresh_rng
from tutorlib.failure import Fail, Flaw, failures_in
from tutorlib.problems.differences import Wrong, count

LARGEST = 2**16  # elements of an array compared one by one; strides of 0 can make any number of them


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people write, recognized by its results."""

    says: str
    answer: Answer


@dataclass(frozen=True)
class Case:
    """One property that an answer must have.

    name: what the case is about, as the reader sees it ("a nested mode").
    judge: takes the Served answer, or a function of the same name; returns None if it is right.
    calls: argument tuples that the case tries; () if it calls the answer in another way.
    mistakes: those that it can recognize. faults: takes an answer; gives its fault at each call that is wrong.
    """

    name: str
    judge: Callable[[Any], Wrong | None]
    calls: Iterable[tuple] = field(default=(), compare=False, repr=False)
    mistakes: tuple[Mistake, ...] = ()
    faults: Callable[[Answer], Iterator[Wrong]] = lambda answer: iter(())


@dataclass(frozen=True, kw_only=True)
class ValueExercise(Exercise):
    """An exercise whose answer is a function that any machine can call.

    cases: they share the points equally, so partial credit counts the cases that are right.
    library: functions that do what is asked; an answer that uses one gets no points.
    through: a question that the cases call in the answer's place.
    """

    cases: tuple[Case, ...]
    library: Library = field(default_factory=dict)
    through: AnswerQuestion | None = None

    def judge(self, served: Served) -> Verdict:
        """The message is about the first wrong case."""
        served.ask(names_none_of, as_told(self.library))
        answer = served.through(self.through) if self.through else served
        wrongs = {case: wrong for case in self.cases if (wrong := case.judge(answer)) is not None}
        right = [case for case in self.cases if case not in wrongs]
        if not wrongs:
            return Verdict(self.points)
        case, first = next(iter(wrongs.items()))
        mistake = first.mistake or likely_mistake(answer, list(wrongs), right)
        if right and (blind := blindness(answer, self.cases)):
            right, mistake = [], mistake or f"Your answer {blind}."
        head = f"{len(right)} of {count(len(self.cases), 'case')} right"
        lines = (head, Flaw(f"{case.name}: ", Fail.CASE(name=case.name)) + first.what, *filter(None, [mistake]))
        return Verdict(self.points * len(right) / len(self.cases), lines, explained=bool(mistake))


def blindness(answer: Answer, cases: Iterable[Case]) -> str:
    """A sentence about an answer that ignores its arguments, "returns 8 whatever it is given"; "" for any other.

    It returns one value or raises one kind of error at every call of these cases, or returns one of its arguments
    unchanged. Such an answer is right in some cases by chance, and earns nothing with them.
    """

    def value_or_error(args: tuple) -> Any:
        try:
            return answer(*args)
        except WrongKind:
            raise
        except Exception as error:
            return type(error)

    calls = [args for case in cases for args in case.calls if args]
    if len(calls) < 2:
        return ""
    results = list(map(value_or_error, calls))
    first = results[0]
    if all(same(got, first) for got in results):
        said = f"raises {first.__name__}" if isinstance(first, type) else f"returns {shorten(first)}"
        return f"{said} whatever it is given"
    for n in range(min(map(len, calls))):
        if all(same(got, args[n]) for got, args in zip(results, calls, strict=True)):
            return f"returns its argument {n + 1} unchanged"
    return ""


def likely_mistake(answer: Answer, wrongs: Sequence[Case], right: Sequence[Case]) -> str:
    """The message of the first known mistake with the same results, or "".

    The mistake must fail with the answer in every wrong case that lists it, and pass in the right ones. Two calls must
    agree, since one could by chance, unless the wrong cases have only one.
    """

    def told(case: Case, answer: Answer) -> list[str]:
        return [fault.what for fault in case.faults(answer)]

    known = dict.fromkeys(mistake for case in wrongs for mistake in case.mistakes)  # in the order of the cases
    mine = {case: told(case, answer) for case in wrongs if known}
    enough = min(2, sum(len(list(case.calls)) for case in wrongs if case.mistakes))
    for mistake in known:
        theirs = update_wrapper(partial(mistake.answer), answer, updated=())  # by its name in messages
        listed = [case for case in wrongs if mistake in case.mistakes]
        alike = all(told(case, theirs) == mine[case] for case in listed)
        agreed = sum(len(mine[case]) for case in listed)
        if alike and agreed >= enough and not any(case.judge(theirs) for case in right):
            return mistake.says
    return ""


def show_call(answer: Answer, args: tuple) -> str:
    """The call as the reader would type it, cut where it is long."""
    shown = ", ".join(shorten(arg) for arg in args)
    return f"{getattr(answer, '__name__', 'your answer')}({shown})"


def shorten(value: Any, limit: int = 120) -> str:
    """A value as the reader writes it: layouts as shape:stride, arrays by their shape and strides, long ones cut."""
    if hasattr(value, "dtype") and getattr(value, "ndim", None):
        strides = value.strides if hasattr(value, "strides") else tuple(value.stride())
        return f"<{type(value).__name__} {value.dtype}, shape {tuple(value.shape)}, strides {strides}>"
    if type(value) is tuple and any(hasattr(part, "stride") for part in value):
        text = f"({', '.join(map(shorten, value))})"
    else:
        text = str(value).replace(" ", "") if hasattr(value, "stride") else repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def attempt(answer: Answer, args: tuple) -> tuple[Any, Wrong | None]:
    """Call the answer; an exception becomes a Wrong that names it and the line of the answer it came from."""
    try:
        return answer(*args), None
    except WrongKind:
        raise
    except MemoryError as error:
        what = f"ran out of memory{place_in(answer, error)}: does it make something without an end?"
        return None, Wrong(f"{show_call(answer, args)} {what}")
    except Exception as error:
        if is_placeholder(error):
            raise
        name = type(error).__name__
        what = f"{show_call(answer, args)} raised {name}: {error}{place_in(answer, error)}"
        return None, Wrong(Flaw(what, Fail.RAISED(error=name), *failures_in(error.args)))


def law(name: str, calls: Iterable[tuple], holds: Callable[..., str | None], mistakes: Iterable[Mistake] = ()) -> Case:
    """A case that is right when `holds(got, *args)` is None for every argument tuple in `calls`.

    `holds` returns the broken law as the end of a sentence: "its offset 3 is missing". It receives NumPy's numbers and
    arrays as plain ones.
    """
    known = tuple(calls)

    def fault(answer: Answer, args: tuple) -> Wrong | None:
        got, wrong = attempt(answer, args)
        if wrong:
            return wrong
        try:
            broken = holds(plain(got), *args)
        except (OverflowError, RecursionError):
            what = "gives a value that is too large to be compared, or nested too deeply."
            return Wrong(f"{show_call(answer, args)} {what}")
        if broken is None:
            return None
        of = ", ".join(type(part).__name__ for part in got[:4]) if isinstance(got, tuple) else ""
        gives = f"{show_call(answer, args)} gives {shorten(got)}: "
        return Wrong(Flaw(gives, Fail.GIVES(type=type(got).__name__, of=of)) + broken + ".")

    def faults(answer: Answer, calls: Iterable[tuple] = known) -> Iterator[Wrong]:
        return filter(None, (fault(answer, args) for args in calls))

    def judge(answer: Answer) -> Wrong | None:
        drawn = calls.draw(fresh_rng(name)) if isinstance(calls, Drawn) and for_points() else ()
        return next(faults(answer, (*known, *drawn)), None)

    return Case(name, judge, known, tuple(mistakes), faults)


def equals(name: str, calls: Iterable[tuple], wanted: Answer, mistakes: Iterable[Mistake] = ()) -> Case:
    """A case that is right if the answer returns `wanted(*args)` for every argument tuple in `calls`."""

    def holds(got: Any, *args: Any) -> str | None:
        want = wanted(*args)
        return None if same(got, want) else f"it should give {shorten(want)}"

    return law(name, calls, holds, mistakes)


def plain(value: Any) -> Any:
    """Numbers of NumPy, of torch and fractions as Python's, whole floats as integers, arrays, lists and vectors of
    torch as tuples.

    An array of more than LARGEST elements stays one, and so does a tensor of two dimensions or more.
    """
    kind, module = type(value), type(value).__module__
    if kind in (tuple, list) or (isinstance(value, tuple) and module == "torch"):  # its Size
        return tuple(map(plain, value))
    if module == "numpy" and hasattr(value, "tolist") and getattr(value, "size", 0) <= LARGEST:
        return plain(value.tolist())
    if module == "torch" and hasattr(value, "tolist") and value.ndim <= 1 and value.numel() <= LARGEST:
        return plain(value.tolist())
    if kind is Fraction:
        return int(value) if value.denominator == 1 else float(value)
    return int(value) if kind is float and value.is_integer() else value


def same(got: Any, want: Any) -> bool:
    """Equal and of the same kind: True is not 1, and an object whose == cannot be trusted is not equal.

    Values that are equal after `plain` are equal.
    """
    if got is want:
        return True
    try:
        got, want = plain(got), plain(want)
        if type(got) is type(want) is tuple:
            return len(got) == len(want) and all(map(same, got, want))
        return type(got) is type(want) and bool(got == want)
    except Exception:
        return False
