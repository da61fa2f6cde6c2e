"""Records the instructions of a main loop over cp.async, and compares those of the threads of a block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tutorlib.checking.plain_python import as_written
from tutorlib.checking.rehearsing.call_site import CallSite, calling_line
from tutorlib.checking.rehearsing.instruction_sets import AMPERE, without_compiler
from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe

MATRICES = ("A", "B")
MOST_INSTRUCTIONS = 100_000  # a loop that issues more does not end
THREADS = 128
KINDS = (0, 31, THREADS // 2, THREADS - 1)  # threads that may differ: the first and last of a warp, of the block

S = TypeVar("S", bound="RecordedSteps")


class DifferentThreads(Exception):
    """Threads issue different instructions, or only some reach a barrier: a rehearsal cannot follow that."""


@dataclass(frozen=True)
class OneMatrix:
    """Stands in for kernels.ampere.thread_share.GlobalToShared."""

    steps: "RecordedSteps"
    matrix: str

    def load(self, k_tile: Any, buffer: Any) -> None:
        self.steps.send(self.matrix, f"{self.matrix.lower()}.load", k_tile, buffer)


@dataclass
class RecordedSteps:
    """Stands in for kernels.ampere.thread_share.Steps, for one thread, and records its instructions.

    skipped: the line of a barrier that is left out, to see whether the loop needs it.
    asked: whether the loop read the thread's index.
    log: the instructions, each with its numbers. barriers: the lines of the barriers.
    """

    k_tiles: int
    k_blocks: int
    stages: int
    thread: int = 0
    skipped: CallSite | None = None
    asked: bool = field(default=False, init=False)
    log: list[tuple[Any, ...]] = field(default_factory=list, init=False)
    barriers: list[CallSite] = field(default_factory=list, init=False)

    @property
    def a(self) -> OneMatrix:
        return OneMatrix(self, "A")

    @property
    def b(self) -> OneMatrix:
        return OneMatrix(self, "B")

    def load(self, k_tile: Any, buffer: Any) -> None:
        for matrix in MATRICES:
            self.send(matrix, "load", k_tile, buffer)

    def send(self, matrix: str, call: str, k_tile: Any, buffer: Any) -> None:
        self.count("load", matrix, int(k_tile), int(buffer))

    def fetch(self, k_block: int, buffer: Any) -> None:
        self.count("fetch", int(k_block), int(buffer))

    def multiply(self, k_block: int) -> None:
        self.count("multiply", int(k_block))

    def commit(self) -> None:
        self.count("commit")

    def wait(self, open_groups: Any) -> None:
        self.count("wait", int(open_groups))

    def barrier(self, barrier_id: Any = None, number_of_threads: Any = None) -> None:
        if number_of_threads not in (None, THREADS):
            raise DifferentThreads(f"a barrier of {number_of_threads} threads")
        self.count("barrier")
        self.barriers.append(calling_line())

    @property
    def is_skipped(self) -> bool:
        """Whether the barrier that was recorded last is the one to leave out."""
        return self.barriers[-1] == self.skipped

    def unrolling(self, *args: Any) -> Iterator[int]:
        """A loop of the compiler's."""
        yield from range(*map(int, args))

    def which(self) -> int:
        self.asked = True
        return self.thread

    def thread_idx(self) -> tuple[int, int, int]:
        return self.which(), 0, 0

    def warp_idx(self) -> int:
        return self.which() // 32

    def lane_idx(self) -> int:
        return self.which() % 32

    def run(self: S, main_loop: Callable[..., None]) -> S:
        with without_compiler(self, AMPERE, main_loop):
            as_written(main_loop)(self)
        return self

    def count(self, *instruction: Any) -> None:
        self.log.append(instruction)
        if len(self.log) > MOST_INSTRUCTIONS:
            raise Unsafe("the loop does not end.", LoopFlaw.ENDLESS)


def compare_threads(main_loop: Callable[..., None], steps: RecordedSteps, play: Callable[[int], S]) -> S:
    """The result of `play` for thread 0; for every kind of thread if the loop asks for its index.

    Raises Unsafe where some threads meet fewer barriers than others, DifferentThreads where they differ otherwise.
    """

    if not replace(steps, thread=0).run(main_loop).asked:
        return play(0)
    scripts = [replace(steps, thread=thread).run(main_loop) for thread in KINDS]
    most = max(scripts, key=lambda script: len(script.barriers))
    fewest = min(scripts, key=lambda script: len(script.barriers))
    if len(most.barriers) > len(fewest.barriers):
        missed = next((line for line in most.barriers if line not in fewest.barriers), most.barriers[-1])
        what = (
            f"{missed}: thread {most.thread} comes to this barrier and thread {fewest.thread} does not. On a GPU that "
            "is a deadlock: all threads of a block must come to each barrier."
        )
        raise Unsafe(what, LoopFlaw.DEADLOCK)
    played = [play(thread) for thread in KINDS]
    if any(script.log != scripts[0].log for script in scripts):
        raise DifferentThreads("threads issue different instructions")
    return played[0]
