"""Exercises whose answer is a function: laws and equalities of its results, and the known mistakes they recognize."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from inspect import unwrap
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from tutorlib.checking.drawn import Drawn
from tutorlib.checking.exercise import Answer, Exercise, Unwritten, Verdict, WrongKind, is_placeholder
from tutorlib.checking.library_use import Library
from tutorlib.checking.patience import OutOfPatience
from tutorlib.checking.randomness import for_points, fresh_rng
from tutorlib.checking.served import AnswerQuestion, Served, place_in
from tutorlib.failure import Fail, Flaw, failures_in
from tutorlib.problems.differences import Wrong, count

MOST_PARTS = 2**11  # of a value, nested ones included: laws look at each of them; right values have less than a third
DEEPEST = 100  # levels of nesting
MOST_MODES = 64  # of a layout, nested ones included; no right one has ten
ORDINALS = ("first", "second", "third", "fourth")
LARGEST = 2**16  # elements of an array compared one by one; strides of 0 can make any number of them


@dataclass(frozen=True)
class Case:
    """One property that an answer must have.

    name: what the case is about, as the reader sees it ("a nested mode").
    judge: takes the Served answer, or a function of the same name; returns None if it is right.
    calls: argument tuples that the case tries; () if it calls the answer in another way.
    reference: a function that does what is asked, where the case has one.
    """

    name: str
    judge: Callable[[Any], Wrong | None]
    calls: Iterable[tuple] = field(default=(), compare=False, repr=False)
    reference: Answer | None = None


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people write, recognized by its results."""

    says: str
    answer: Answer


@dataclass(frozen=True)
class Broken(Wrong):
    """A law that does not hold.

    explained: a known mistake → the number of calls at which it is wrong in the same way; 0 if it differs at any.
    calls: of the case.
    """

    explained: Mapping[Mistake, int] = field(default_factory=dict)
    calls: int = 0


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
        served.refuse(self.library)
        answer = served.through(self.through) if self.through else served
        wrongs = {case: wrong for case in self.cases if (wrong := case.judge(answer)) is not None}
        right = [case for case in self.cases if case not in wrongs]
        if not wrongs:
            return Verdict(self.points)
        case, first = next(iter(wrongs.items()))
        mistake = first.mistake or likely_mistake(list(wrongs.values()), right)
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
    calls = [args for case in cases for args in case.calls if args]
    if len(calls) < 2:
        return ""
    first = value_or_error(answer, calls[0])
    said = f"raises {first.__name__}" if isinstance(first, type) else f"returns {shorten(first)}"
    ways: dict[str, Callable[[tuple], Any]] = {f"{said} whatever it is given": lambda args: first}
    for n, nth in zip(range(min(map(len, calls))), ORDINALS, strict=False):
        ways[f"returns its {nth} argument unchanged"] = itemgetter(n)
    for args in calls:
        got = value_or_error(answer, args)
        ways = {said: way for said, way in ways.items() if looks_same(got, way(args))}
        if not ways:
            return ""
    return next(iter(ways))


def looks_same(got: Any, want: Any) -> bool:
    """Whether it is the same object, or `same`. Values that cannot be compared are not."""
    try:
        return got is want or same(got, want)
    except Exception:
        return False


def value_or_error(answer: Answer, args: tuple) -> Any:
    """The answer's result, or the type of the exception that it raises.

    Raises Unwritten and WrongKind.
    """
    try:
        return answer(*args)
    except (Unwritten, WrongKind):
        raise
    except Exception as error:
        return type(error)


def likely_mistake(wrongs: Sequence[Wrong], right: Sequence[Case]) -> str:
    """The message of the first known mistake with the same results, or "".

    The mistake must fail with the answer in every wrong case that lists it, and pass in the right ones. Two calls must
    agree, since one could by chance, unless the wrong cases have only one.
    """
    broken = [wrong for wrong in wrongs if isinstance(wrong, Broken)]
    enough = min(2, sum(wrong.calls for wrong in broken))
    known = {mistake: None for wrong in broken for mistake in wrong.explained}  # in the order in which they are listed
    for mistake in known:
        explained = [wrong.explained[mistake] for wrong in broken if mistake in wrong.explained]
        if not all(explained) or sum(explained) < enough:
            continue
        if all(case.judge(Served(mistake.answer)) is None for case in right):
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
    except OutOfPatience as end:
        end.call = show_call(answer, args)
        raise
    except MemoryError as error:
        place = where(answer, error)
        return None, Wrong(
            f"{show_call(answer, args)} ran out of memory{place}: does it make something without an end?"
        )
    except NotImplementedError as error:
        if is_placeholder(error):
            raise Unwritten from None
        return None, wrong_by_error(answer, args, error)
    except (Unwritten, WrongKind):
        raise
    except Exception as error:
        return None, wrong_by_error(answer, args, error, where(answer, error))


def wrong_by_error(answer: Answer, args: tuple, error: Exception, place: str = "") -> Wrong:
    name = type(error).__name__
    told = (Fail.RAISED(error=name), *failures_in(error.args))
    return Wrong(Flaw(f"{show_call(answer, args)} raised {name}: {error}{place}", *told))


def where(answer: Answer, error: BaseException) -> str:
    """`place_in`, for an answer or a function that wraps it."""
    inner = unwrap(answer)
    return inner.where(error) if isinstance(inner, Served) else place_in(inner, error)


def law(name: str, calls: Iterable[tuple], holds: Callable[..., str | None], mistakes: Iterable[Mistake] = ()) -> Case:
    """A case that is right when `holds(got, *args)` is None for every argument tuple in `calls`.

    `holds` returns the broken law as the end of a sentence: "its offset 3 is missing". It receives NumPy's numbers and
    arrays as plain ones.
    """
    known, mistakes = tuple(calls), tuple(mistakes)

    def judge(answer: Answer) -> Wrong | None:
        others: Iterable[tuple] = ()
        if isinstance(calls, Drawn) and for_points():
            others = calls.draw(fresh_rng(f"{calls.seed} {name}").getrandbits(32))
        tried = (*known, *others)
        for args in tried:
            got, wrong = attempt(answer, args)
            if wrong is not None:
                return wrong
            try:
                if most := too_wide(got):
                    more = f"{show_call(answer, args)} gives a value of more than {most}"
                    return Wrong(f"{more}. No answer needs as many; a tensor counts as one.")
                broken = holds(plain(got), *args)
            except OverflowError:
                return Wrong(f"{show_call(answer, args)} gives a number too large to be compared.")
            except RecursionError:
                return Wrong(f"{show_call(answer, args)} gives a value that contains itself, or is nested too deeply.")
            if broken is not None:
                of = ", ".join(type(part).__name__ for part in got[:4]) if isinstance(got, tuple) else ""
                kind = Fail.GIVES(type=type(got).__name__, of=of)
                gives = Flaw(f"{show_call(answer, args)} gives {shorten(got)}: ", kind)
                return Broken(gives + broken + ".", "", explanations(answer, tried, holds, mistakes), len(tried))
        return None

    return Case(name, judge, known)


def explanations(
    answer: Answer, calls: Sequence[tuple], holds: Callable[..., str | None], mistakes: Sequence[Mistake]
) -> dict[Mistake, int]:
    """Each mistake → the number of calls at which it returns the same wrong value as the answer.

    0 if only one of the two is right at some call, or if they are wrong in different ways. {} if the answer raises.
    """
    wrongs = dict.fromkeys(mistakes, 0)
    for args in calls if mistakes else ():
        got, raised = attempt(answer, args)
        if raised is not None:
            return {}
        is_wrong = holds(plain(got), *args) is not None
        for mistake in list(wrongs):
            theirs, raised = attempt(mistake.answer, args)
            if raised is not None or (holds(plain(theirs), *args) is not None) is not is_wrong:
                del wrongs[mistake]
            elif is_wrong and same(got, theirs):
                wrongs[mistake] += 1
            elif is_wrong:
                del wrongs[mistake]
    return {mistake: wrongs.get(mistake, 0) for mistake in mistakes}


def equals(name: str, calls: Iterable[tuple], wanted: Answer, mistakes: Iterable[Mistake] = ()) -> Case:
    """A case that is right if the answer returns `wanted(*args)` for every argument tuple in `calls`."""

    def holds(got: Any, *args: Any) -> str | None:
        want = wanted(*args)
        if same(got, want):
            return None
        return f"it should give {shorten(want)}"

    return replace(law(name, calls, holds, mistakes), reference=wanted)


def plain(value: Any) -> Any:
    """Numbers of NumPy, of torch and fractions as Python's, whole floats as integers, arrays, lists and vectors of
    torch as tuples.

    An array of more than LARGEST elements stays one, and so does a tensor of two dimensions or more.
    """
    if type(value).__module__ == "numpy" and hasattr(value, "tolist") and getattr(value, "size", 0) <= LARGEST:
        return plain(value.tolist())
    if type(value) in (tuple, list) or (isinstance(value, tuple) and type(value).__module__ == "torch"):  # its Size
        return tuple(map(plain, value))
    if type(value) is Fraction:
        return int(value) if value.denominator == 1 else float(value)
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value).__module__ == "torch" and hasattr(value, "tolist") and is_short_vector(value.shape):
        return plain(value.tolist())
    return value


def is_short_vector(shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape is a number, or a row of at most LARGEST."""
    return len(shape) == 0 or (len(shape) == 1 and shape[0] <= LARGEST)


def too_wide(value: Any) -> str:
    """Why a value is too large to compare, "64 modes"; "" if it is not. Raises as `parts`."""
    for number, part in enumerate(parts(value)):
        if number >= MOST_PARTS:
            return f"{MOST_PARTS:,} parts"
        if hasattr(part, "stride") and has_more_modes(getattr(part, "shape", ())):
            return f"{MOST_MODES} modes"
    return ""


def has_more_modes(shape: Any) -> bool:
    """Whether a layout of this shape has more than MOST_MODES."""
    return sum(1 for _ in islice((one for one in parts(shape) if type(one) is int), MOST_MODES + 1)) > MOST_MODES


def parts(value: Any) -> Iterator[Any]:
    """The value, and the elements of tuples, lists, sets and dictionaries in it, at all levels.

    Raises RecursionError where it is nested too deeply.
    """
    left: list[Iterator[Any]] = [iter((value,))]
    while left:
        if len(left) > DEEPEST:
            raise RecursionError
        for part in left[-1]:
            yield part
            if type(part) in (tuple, list, set, frozenset):
                left.append(iter(part))
                break
            if type(part) is dict:
                left.append(chain.from_iterable(part.items()))
                break
        else:
            left.pop()


def same(got: Any, want: Any) -> bool:
    """Equal and of the same kind: True is not 1, and an object whose == cannot be trusted is not equal.

    Values that are equal after `plain` are equal.
    """
    got, want = plain(got), plain(want)
    if type(got) is not type(want):
        return False
    if isinstance(want, tuple):
        return len(got) == len(want) and all(same(g, w) for g, w in zip(got, want, strict=True))
    return bool(got == want)
