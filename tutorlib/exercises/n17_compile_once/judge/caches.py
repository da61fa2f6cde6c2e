"""17.3 and 17.4: the keys of calls, and what a cache compiles, runs and keeps, which is compared with the course's."""

import gc
import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.scenario import record_of
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.kernel_cache import CompiledKernels
from tutorlib.problems.wrong import Wrong, count

Call = tuple[int, Any, int]  # which cache is called, the key, and the number of tensors
Event = dict[str, Any]


class KeepingFlaw(FailureKind):
    """What is wrong with how compiled functions are kept."""

    COMPILED = "compiled too often"
    KEYS = "keys"
    SHARED = "shared"
    TENSORS = "tensors of the first call"
    RUNS = "runs more than once"
    BUILT = "builds a key more than once"
    KEPT = "tensors kept alive"


@dataclass(eq=False)
class Vector:
    """Stands for a tensor."""

    name: str


def numbered_key(answer: Served, *call: Any) -> tuple[int, str]:
    """The key by a number, which equal keys share, and as text: it may hold objects that cannot leave the process.

    Raises WrongKind if no dictionary takes it.
    """
    numbers: dict[Hashable, int] = answer.kept.setdefault("keys", {})
    key = answer(*call)
    try:
        return numbers.setdefault(key, len(numbers)), repr(key)
    except TypeError as error:
        why = f"{key!r} cannot be the key of a dictionary: {error}.\n  Tuples can, lists cannot."
        raise WrongKind(why) from None


def cached_calls(answer: Served, calls: Sequence[Call], refused: Any = None) -> dict[str, Any]:
    """Runs where the answer is. refused: a key whose first compilation fails.

    events: for each call the keys that it built; the tensors of each compilation; for each run, which function of
    which cache, and its tensors; and the result. alive: how many tensors are in memory, but for the last call's.
    """
    events: list[Event] = []
    left = [refused] if refused else []

    def begin(key: Any = None) -> None:
        events.append({"key": key, "keys": 0, "compiled": [], "ran": [], "result": None})

    def build_key(*tensors: Vector) -> Any:
        events[-1]["keys"] += 1
        return events[-1]["key"]

    def make(cache: int) -> Any:
        made = 0

        def compile(*tensors: Vector) -> Any:
            nonlocal made
            events[-1]["compiled"].append([one.name for one in tensors])
            if events[-1]["key"] in left:
                left.clear()
                raise RuntimeError("it does not compile")
            function, made = [cache, made], made + 1

            def compiled(*given: Vector) -> list:
                events[-1]["ran"].append([*function, *(one.name for one in given)])
                return events[-1]["ran"][-1]

            return compiled

        kernels = answer(compile, build_key)
        if not callable(kernels):
            raise WrongKind("CompiledKernels(compile, key) should return an object that you can call with tensors.")
        return kernels

    begin()  # what happens before the first call
    caches = [make(n) for n in range(1 + max(cache for cache, *_ in calls))]
    tensors: list[weakref.ref[Vector]] = []
    for nth, (cache, key, number) in enumerate(calls):
        begin(key)
        given = [Vector(f"{'xyz'[n % 3]}{nth}") for n in range(number)]
        tensors += map(weakref.ref, given)
        try:
            events[-1]["result"] = caches[cache](*given)
        except RuntimeError:
            events[-1]["result"] = "RuntimeError"
    gc.collect()
    alive = sum(one() is not None for one in tensors) - len(given)
    return {"events": events, "alive": alive}


def cached(name: str, calls: Sequence[Call], kind: FailureKind | None = None, refused: Any = None) -> Case:
    """kind: of too many or too few compilations."""

    def judge(answer: Served) -> Wrong | None:
        record, wrong = record_of(answer, cached_calls, calls, refused)
        if wrong:
            return wrong
        known = cached_calls(Served(CompiledKernels), calls, refused)
        for nth, (got, want) in enumerate(zip(record["events"], known["events"], strict=True)):
            before = ", ".join(repr(key) for _, key, _ in calls[: nth - 1])
            call = f"call {nth}, with the key {calls[nth - 1][1]!r}{before and ' after '}{before}," if nth else "it"
            if wrong := unlike(call, got, want, kind):
                return wrong
        if record["alive"] > 1:  # a cache may keep the tensors of its last call
            what = f"after {count(len(calls), 'call')}, each with tensors of its own, it still refers to "
            what += f"{record['alive']} of these. Keep the function, not what it was called with."
            return Wrong(Flaw(what, KeepingFlaw.KEPT))
        return None

    return Case(name, judge)


def unlike(call: str, got: Event, want: Event, kind: FailureKind | None) -> Wrong | None:
    """How a call differs from the course's."""
    if got["compiled"] != want["compiled"]:
        times = count(len(got["compiled"]), "time")
        what = f"{call} compiles {times}; {len(want['compiled'])}, with the call's tensors, is right."
        return Wrong(Flaw(what, kind) if kind else what)
    if len(got["ran"]) > 1:
        times = count(len(got["ran"]), "time")
        return Wrong(Flaw(f"{call} runs the compiled function {times}; once is right.", KeepingFlaw.RUNS))
    if got["ran"] != want["ran"]:
        what = f"{call} should run the function for its key with its own tensors."
        return Wrong(Flaw(what, *([] if want["compiled"] else [KeepingFlaw.TENSORS])))
    if got["result"] != want["result"]:
        return Wrong(f"{call} should return what the compiled function returns, and raise what the compiler raises.")
    if got["keys"] > 1 + 2 * len(got["compiled"]):  # two more where it compiles cost little
        what = f"{call} builds its key {count(got['keys'], 'time')}: one serves all of a call."
        return Wrong(Flaw(what, KeepingFlaw.BUILT))
    return None


KEEPING = (
    cached("one call", [(0, (2, 3), 2)] * 2),
    cached("many calls", [(0, n, 1) for n in (*range(1, 41), *range(1, 41), 7, 40, 1)], KeepingFlaw.COMPILED),
    cached("any key", [(0, key, 1) for key in (None, None, 0, 0, -1, -2)], KeepingFlaw.KEYS),  # -1, -2: of one hash
    cached("two of them", [(0, 1, 1), (1, 1, 1)], KeepingFlaw.SHARED),
    cached("a compilation that fails", [(0, 1, 1), (0, 1, 1)], refused=1),
)
