"""17.3 and 17.4: the keys of calls, and what a cache compiles, runs and keeps, which is compared with the course's."""

import gc
import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.scenario import judged_by_record
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.kernel_cache import CompiledKernels

Call = tuple[int, Hashable, int]  # which cache is called, the key, and the number of tensors


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

    def __repr__(self) -> str:
        return self.name


def numbered_keys(answer: Served, calls: Sequence[tuple]) -> list[tuple[int, str]]:
    """The key of each call by a number, which equal keys share, and as text: keys need not be plain data.

    Runs where the answer is. Raises WrongKind if no dictionary takes a key.
    """
    numbers: dict[Hashable, int] = {}
    found = []
    for call in calls:
        key = answer(*call)
        try:
            found.append((numbers.setdefault(key, len(numbers)), repr(key)))
        except TypeError as error:
            why = f"{key!r} cannot be the key of a dictionary: {error}.\n  Tuples can, lists cannot."
            raise WrongKind(why) from None
    return found


def cached_calls(answer: Served, calls: Sequence[Call], refused: Hashable = None) -> tuple[list[str], int, int]:
    """Runs where the answer is, with two caches. refused: a key whose first compilation fails.

    Returns the events, a line each; how many keys were built; and how many tensors are in memory, but for the last
    call's.
    """
    events: list[str] = []
    made, left, built = [0, 0], {refused} - {None}, 0
    call = calls[0]

    def key_of(*tensors: Vector) -> Hashable:
        nonlocal built
        built += 1
        return call[1]

    def make(cache: int) -> Any:
        def compile(*tensors: Vector) -> Any:
            events.append(f"compile for {tensors}")
            if call[1] in left:
                left.clear()
                raise RuntimeError("it does not compile")
            made[cache] += 1
            name = f"function {made[cache]} of cache {cache + 1}"

            def compiled(*given: Vector) -> str:
                events.append(f"run {name} on {given}")
                return f"return what {name} returns for {given}"

            return compiled

        kernels = answer(compile, key_of)
        if not callable(kernels):
            raise WrongKind("CompiledKernels(compile, key) should return an object that you can call with tensors.")
        return kernels

    caches = [make(0), make(1)]
    tensors: list[weakref.ref[Vector]] = []
    for nth, call in enumerate(calls, 1):
        events.append(f"in call {nth}, with the key {call[1]!r},")
        given = [Vector(f"{name}{nth}") for name in "xyz"[: call[2]]]
        tensors += map(weakref.ref, given)
        try:
            result = caches[call[0]](*given)
            events.append(result if isinstance(result, str) else f"return {type(result).__name__}")
        except RuntimeError:
            events.append("raise the compiler's error")
    gc.collect()
    return events, built, sum(one() is not None for one in tensors) - len(given)


def cached(name: str, calls: Sequence[Call], kind: FailureKind | None = None, refused: Hashable = None) -> Case:
    """kind: of too many or too few compilations."""

    def wrong_record(record: tuple[list[str], int, int], *given: Any) -> str:
        events, built, alive = record
        wanted, *_ = cached_calls(Served(CompiledKernels), *given)
        call = "before the first call,"
        for got, want in zip_longest(events, wanted, fillvalue="do nothing more"):
            if got != want:
                return Flaw(f"{call} it should {want}, not {got}.", *kinds_of(got, want, kind))
            call = got if got.startswith("in call") else call
        compiled = sum(event.startswith("compile") for event in events)
        if built > len(calls) + 2 * compiled:  # two more where it compiles cost little
            return Flaw(f"{len(calls)} calls build {built} keys: one serves all of a call.", KeepingFlaw.BUILT)
        if alive > 1:  # a cache may keep the tensors of its last call
            what = f"after {len(calls)} calls, each with tensors of its own, it still refers to {alive} of these. Keep "
            return Flaw(what + "the function, not what it was called with.", KeepingFlaw.KEPT)
        return ""

    return judged_by_record(name, cached_calls, lambda rng: (calls, refused), wrong_record)


def kinds_of(got: str, want: str, kind: FailureKind | None) -> list[FailureKind]:
    """The kind of failure of an event that should be another."""
    if "compile for" in got + want:
        return [kind] if kind else []
    return [KeepingFlaw.RUNS] if got.startswith("run") and not want.startswith("run") else [KeepingFlaw.TENSORS]


KEEPING = (
    cached("one call", [(0, (2, 3), 2)] * 2),
    cached("many calls", [(0, n, 1) for n in (*range(1, 41), *range(1, 41), 7, 40, 1)], KeepingFlaw.COMPILED),
    cached("any key", [(0, key, 1) for key in (None, None, 0, 0, -1, -2)], KeepingFlaw.KEYS),  # -1, -2: of one hash
    cached("two of them", [(0, 1, 1), (1, 1, 1)], KeepingFlaw.SHARED),
    cached("a compilation that fails", [(0, 1, 1), (0, 1, 1)], refused=1),
)
