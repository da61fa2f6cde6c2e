"""17.3 and 17.4: the keys of calls, and records of what a cache compiles, runs and keeps."""

import gc
import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.records import Record, as_the_course
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.kernels.compiled_once import CompiledKernels

Call = tuple[int, Hashable, int]  # which cache is called, the key, and the number of tensors


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


def cached_calls(answer: Served, calls: Sequence[Call], refused: Hashable = None) -> Record:
    """Runs where the answer is, with two caches. refused: a key whose first compilation fails.

    What each call compiles, runs and returns, in order; whether one key serves all of a call; and whether at most the
    last call's tensors are in memory at the end.
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
                return f"what {name} returns for {given}"

            return compiled

        kernels = answer(compile, key_of)
        if not callable(kernels):
            raise WrongKind("CompiledKernels(compile, key) should return an object that you can call with tensors.")
        return kernels

    caches = [make(0), make(1)]
    tensors: list[weakref.ref[Vector]] = []
    record: Record = {"compilations and runs": {}, "result": {}}
    for nth, call in enumerate(calls, 1):
        of = f"call {nth}, with the key {call[1]!r}"
        events.clear()
        given = [Vector(f"{name}{nth}") for name in "xyz"[: call[2]]]
        tensors += map(weakref.ref, given)
        try:
            result = caches[call[0]](*given)
            record["result"][of] = result if isinstance(result, str) else f"a {type(result).__name__}"
        except RuntimeError:
            record["result"][of] = "the compiler's error"
        record["compilations and runs"][of] = "; ".join(events)
    gc.collect()
    alive = sum(one() is not None for one in tensors) - len(given)
    return record | {
        "keys of a call": "one" if built <= len(calls) + 2 * sum(made) else f"{built} in {len(calls)} calls",
        "tensors in memory": "those of the last call" if alive <= 1 else f"those of the last call, and {alive} others",
    }


def cached(name: str, calls: Sequence[Call], refused: Hashable = None) -> Case:
    return as_the_course(name, cached_calls, lambda rng: (calls, refused), lambda: CompiledKernels)


KEEPING = (
    cached("one call", [(0, (2, 3), 2)] * 2),
    cached("many calls", [(0, n, 1) for n in (*range(1, 41), *range(1, 41), 7, 40, 1)]),
    cached("any key", [(0, key, 1) for key in (None, None, 0, 0, -1, -2)]),  # -1, -2: of one hash
    cached("two of them", [(0, 1, 1), (1, 1, 1)]),
    cached("a compilation that fails", [(0, 1, 1), (0, 1, 1)], refused=1),
)
