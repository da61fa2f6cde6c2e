"""Trials of a cache of compiled functions that has a bound and is called from several threads.

Numbers stand for tensors. The compiler is the judge's: what it makes returns a number that it alone knows. Where
threads meet and functions are released, a compiler of the answer's process is called, which can only lower the points.
"""

import gc
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.graded_run import for_points
from tutorlib.checking.randomness import fresh_rng, new_seed
from tutorlib.checking.served import Served
from tutorlib.exercises.n17_compile_once.judge.trials import raised, str_of, told_of_tensors
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.wrong import count

Compiled = Callable[..., Any]
MOST = 3
PATIENCE_S = 3.0  # for a call that nothing holds up
PAUSE_S = 0.05  # in which a thread that does not wait gets further
THREADS = 6
HASHED = 4  # times that a lookup hashes its key, if not less
RAISED, RAN = "raised", "ran"  # results


class CacheFlaw(FailureKind):
    """What is wrong with a cache that has a bound."""

    STUCK = "a call does not return"
    COMPILED = "a hit is compiled"
    UNBOUNDED = "keeps too many"
    ORDER = "evicts another than the least recently used"
    RESULT = "another function's result"
    FAILURE = "after a failed compilation"
    HELD = "evicted functions stay alive"
    TWICE = "compiled by two threads"
    HIT_WAITS = "a hit waits for a compilation"
    CALLS_WAIT = "calls wait for each other"
    NOT_LOCKED = "evicts during a lookup"


# In the answer's process ----------------------------------------------------------------------------------------------


def in_a_thread(function: Callable[[], Any]) -> Callable[[float], Any]:
    """Start it. The function returned waits for so many seconds, then raises TimeoutError; or raises as the thread."""
    ended: list[tuple[Any, BaseException | None]] = []

    def run() -> None:
        try:
            ended.append((function(), None))
        except BaseException as error:
            ended.append((None, error))

    thread = Thread(target=run, daemon=True)
    thread.start()

    def result(seconds: float) -> Any:
        thread.join(seconds)
        if not ended:
            raise TimeoutError
        value, error = ended[0]
        if error:
            raise error
        return value

    return result


def called(answer: Served, make: Callable[[], Compiled], keys: list[int]) -> dict[str, Any]:
    """The results of calls with these numbers, one after the other; RAISED where one raised RuntimeError."""
    results: list[Any] = []
    if said := answer.kept.get("stuck"):
        return {"said": said, "results": []}

    def call_all() -> None:
        kernels = make()
        for nth, key in enumerate(keys):
            try:
                results.append(kernels(key, nth))
            except RuntimeError:
                results.append(RAISED)

    try:
        in_a_thread(call_all)(PATIENCE_S + len(keys) / 10)
    except TimeoutError:
        what = f"call {len(results) + 1} does not return: does a thread wait for a lock that it holds itself?"
        answer.kept["stuck"] = Flaw(what, CacheFlaw.STUCK)
        return {"said": answer.kept["stuck"], "results": []}
    except Exception as error:
        return {"said": raised("it", error), "results": []}
    return {"said": "", "results": results}


def by_first(*tensors: Any) -> Any:
    """A key: the first of the numbers that stand for tensors."""
    return tensors[0]


def made_by(answer: Served, compile: Compiled, most: int) -> Compiled:
    """Raises WrongKind and what the answer does."""
    kernels = answer(compile, by_first, most)
    if not callable(kernels):
        raise WrongKind("BoundedKernels(compile, key, most) should give something that is called with tensors.")
    return kernels


def told_of_calls(answer: Served, compile: Compiled, most: int, keys: list[int]) -> dict[str, Any]:
    return called(answer, lambda: made_by(answer, compile, most), keys)


class Function:
    """Stands for a compiled function."""

    def __call__(self, *tensors: Any) -> Any:
        return RAN, *tensors


def told_of_release(answer: Served, most: int) -> str:
    """Whether a function is released when it has been evicted."""
    made: list[weakref.ref[Function]] = []

    def compile(*tensors: Any) -> Function:
        function = Function()
        made.append(weakref.ref(function))
        return function

    held = []

    def make() -> Compiled:
        held.append(made_by(answer, compile, most))
        return held[0]

    keys = list(range(2 * most))
    found = called(answer, make, keys)
    if said := found["said"]:
        return str(said)
    if found["results"] != [(RAN, key, nth) for nth, key in enumerate(keys)]:
        return Flaw("a call should return what its own function returns for it.", CacheFlaw.RESULT)
    gc.collect()
    alive = sum(function() is not None for function in made)
    if alive > most:
        what = f"after {2 * most} keys {alive} functions are alive, with a bound of {most}: an evicted one is still "
        return Flaw(what + "referred to, so the driver never unloads it.", CacheFlaw.HELD)
    return ""


def told_of_threads(answer: Served) -> str:
    """What is wrong where threads call one cache at a time, or ""."""
    if said := answer.kept.get("stuck"):
        return str(said)
    try:
        found = wrong_in_threads(answer)
        return found or next(filter(None, (wrong_lookup(answer, 1 + n) for n in range(HASHED))), "")
    except TimeoutError:
        what = "a call does not return: does a thread wait for a lock that it holds itself?"
        return Flaw(what, CacheFlaw.STUCK)
    except Exception as error:
        return raised("it", error)


class Key:
    """Calls `meanwhile` when it is hashed the nth time: inside a lookup or an insertion."""

    def __init__(self, number: int, nth: int = 0, meanwhile: Callable[[], Any] | None = None) -> None:
        self.number, self.left, self.meanwhile = number, nth, meanwhile

    def __hash__(self) -> int:
        self.left -= 1
        if self.meanwhile and not self.left:
            self.meanwhile()
        return hash(self.number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other.number == self.number


def wrong_lookup(answer: Served, nth: int) -> str:
    """What is wrong if another thread inserts a key, and so evicts this one, while this one is hashed the nth time.

    Raises TimeoutError and what the answer does.
    """
    compiling, go_on = Event(), Event()

    def compile(key: Key) -> Compiled:
        if key.number == NEW:
            compiling.set()
            go_on.wait(PATIENCE_S)
        return Function()

    def insert() -> None:
        go_on.set()
        with suppress(TimeoutError):  # with a lock around the lookup, the insertion waits for it
            inserted(PAUSE_S)

    kernels = answer(compile, lambda key: key, 1)
    kernels(Key(KEPT))
    inserted, hashed = in_a_thread(lambda: kernels(Key(NEW))), Key(KEPT, nth, insert)
    compiling.wait(PATIENCE_S)
    try:
        in_a_thread(lambda: kernels(hashed))(PATIENCE_S)
    except KeyError:
        what = "while one thread looks up a key, another evicts it: KeyError. The steps of a lookup, and those of an "
        return Flaw(what + "insertion with its eviction, belong under one lock.", CacheFlaw.NOT_LOCKED)
    finally:
        hashed.meanwhile = None  # the insertion may hash it, too
        go_on.set()
    inserted(PATIENCE_S)
    return ""


def wrong_in_threads(answer: Served) -> str:
    """Raises TimeoutError and what the answer does."""
    compiling, go_on, running, finish = Event(), Event(), Event(), Event()
    lock, compiled = Lock(), []

    def compile(key: int) -> Compiled:
        with lock:
            compiled.append(key)
        if key == SLOW:
            compiling.set()
            go_on.wait(3 * PATIENCE_S)
        return long_run if key == LONG else Function()

    def long_run(*tensors: Any) -> Any:
        running.set()
        finish.wait(3 * PATIENCE_S)
        return RAN, *tensors

    kernels = made_by(answer, compile, MOST)
    try:
        in_a_thread(lambda: kernels(KEPT))(PATIENCE_S)
        slow = [in_a_thread(lambda: kernels(SLOW))]
        compiling.wait(PATIENCE_S)
        try:
            in_a_thread(lambda: kernels(KEPT))(PATIENCE_S)
        except TimeoutError:
            what = "while one thread compiles, a call with another key, whose function is kept, waits for it."
            return Flaw(what, CacheFlaw.HIT_WAITS)
        slow += [in_a_thread(lambda: kernels(SLOW)) for _ in range(THREADS - 1)]
        go_on.wait(PAUSE_S)
        go_on.set()
        if any(call(PATIENCE_S) != (RAN, SLOW) for call in slow):
            return Flaw("a thread gets another result than its own call's.", CacheFlaw.RESULT)
        if compiled.count(SLOW) > 1:
            what = (
                f"{THREADS} threads call with one new key at a time, and it is compiled {compiled.count(SLOW)} times."
            )
            return Flaw(what, CacheFlaw.TWICE)
        long = in_a_thread(lambda: kernels(LONG))
        running.wait(PATIENCE_S)
        try:
            in_a_thread(lambda: kernels(KEPT))(PATIENCE_S)
        except TimeoutError:
            what = "while one thread's function runs, another thread's call waits: a lock is held during the call."
            return Flaw(what, CacheFlaw.CALLS_WAIT)
        try:
            in_a_thread(lambda: kernels(NEW))(PATIENCE_S)
        except TimeoutError:
            what = "while one thread's function runs, another thread's compilation waits: a lock is held in the call."
            return Flaw(what, CacheFlaw.CALLS_WAIT)
        finish.set()
        long(PATIENCE_S)
    finally:
        go_on.set()
        finish.set()
    return ""


KEPT, SLOW, LONG, NEW = range(4)  # keys of `wrong_in_threads`


# In the judge's process -----------------------------------------------------------------------------------------------


class Compiler:
    """Stands for the compiler. failing: keys that it refuses once. made: the key and number of each compilation.

    ran: the last argument of each call of what it made.
    """

    def __init__(self, failing: frozenset[int]) -> None:
        self.made: list[tuple[int, int]] = []
        self.ran: list[Any] = []
        self.failing = set(failing)

    def compile(self, key: int, nth: int) -> Callable[..., tuple]:
        if key in self.failing:
            self.failing.remove(key)
            raise RuntimeError("it does not compile")
        number = new_seed()
        self.made.append((key, number))

        def compiled(*given: Any) -> tuple:
            self.ran.extend(given[-1:])
            return number, *given

        return compiled


def tried(served: Served, most: int, keys: list[int], failing: frozenset[int] = frozenset()) -> str:
    """What is wrong with calls in this order, or "". failing: keys whose first compilation fails."""
    compiler = Compiler(failing)
    found = served.ask(told_of_calls, compiler.compile, most, keys)
    match found:
        case {"said": str(said)} if said:
            return said
        case {"results": list(results)} if len(results) == len(keys):
            ran = [nth for nth, got in enumerate(results) if got != RAISED]
            if said := wrong_calls(compiler.made, most, keys, results, failing):
                return said
            return "" if compiler.ran == ran else Flaw("a call runs its function more than once.", CacheFlaw.RESULT)
    return "not every call returns."


def wrong_calls(
    made: list[tuple[int, int]], most: int, keys: list[int], results: list[Any], failing: frozenset[int]
) -> str:
    """Compares with a cache that evicts the least recently used. made: the key and number of each compilation."""
    kept: OrderedDict[int, int] = OrderedDict()  # key → number
    used, left = set[int](), set(failing)
    for nth, (key, got) in enumerate(zip(keys, results, strict=True)):
        before = f"after calls with the keys {', '.join(map(str, keys[:nth]))}" if nth else "in a new cache"
        after = f"with a bound of {most}, {before}, a call with {key}"
        if key in left:
            left.remove(key)
            if got != RAISED:
                return Flaw("if the compiler raises, the call should raise, too.", CacheFlaw.FAILURE)
            continue
        if got == RAISED:
            return Flaw(f"{after} raises, although its second compilation would succeed.", CacheFlaw.FAILURE)
        number: Any = got[0] if isinstance(got, tuple) and got else None
        if key in kept and number != kept[key] and (key, number) in made:
            kind = CacheFlaw.FAILURE if failing else CacheFlaw.COMPILED if len(used) <= most else CacheFlaw.ORDER
            return Flaw(f"{after} compiles again; its function should have been kept.", kind)
        if key not in kept and number in used:
            what = f"{after} compiles nothing; {key} was the least recently used and should have been evicted."
            return Flaw(what, CacheFlaw.UNBOUNDED)
        if got != (kept.get(key, number), key, nth) or (key, number) not in made:
            return Flaw(f"{after} should return what its own function returns for this call.", CacheFlaw.RESULT)
        used.add(number)
        kept[key] = number
        kept.move_to_end(key)
        if len(kept) > most:
            kept.popitem(last=False)
    if len(made) > len(used):
        return Flaw(f"{count(len(made), 'compilation')} where {len(used)} are needed.", CacheFlaw.COMPILED)
    return ""


def the_bound(served: Served) -> str:
    """Fills it, calls all again, and then one key more than it holds."""
    most = fresh_rng().randint(2, 6) if for_points() else MOST
    full = list(range(most))
    return tried(served, most, [*full, *full, most, *full[1:], most, 0])


def the_order(served: Served) -> str:
    most, turns = MOST, [0, 1, 2, 0, 3, 0, 1, 3, 0, 4, 3, 0, 1]
    rng = fresh_rng()
    others = [rng.randint(0, most + 1) for _ in range(24)] if for_points() else []
    return tried(served, most, turns + others)


def a_failure(served: Served) -> str:
    """It evicts nothing, and is forgotten."""
    return tried(served, MOST, [0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3], failing=frozenset({3}))


def released(served: Served) -> str:
    return str_of(served.ask(told_of_release, MOST)) or str_of(served.ask(told_of_tensors, MOST))


def threads(served: Served) -> str:
    return str_of(served.ask(told_of_threads))


BOUNDED = (
    ("the bound", the_bound),
    ("the order", the_order),
    ("a compilation that fails", a_failure),
    ("evicted functions", released),
    ("threads", threads),
)
