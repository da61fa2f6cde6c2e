"""The blocks' turns: one runs at a time. A block that waits for another one gives way, and goes on later."""

from collections import deque
from collections.abc import Callable, Iterable
from threading import Event, Semaphore, Thread


class Ended(Exception):
    """The launch has ended before this block has."""


class Turns:
    """Runs the blocks in order, each to its end unless it gives way: it keeps its thread, and others run in new ones.

    run_block: by its number. Whatever it raises ends the launch.
    """

    def __init__(self, blocks: Iterable[int], run_block: Callable[[int], None]) -> None:
        self.unstarted, self.run_block = deque(blocks), run_block
        self.waiting: deque[Semaphore] = deque()
        self.all_done = Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Raises what a block raises."""
        self.run_unstarted()
        self.all_done.wait()
        if self.error:
            raise self.error

    def run_unstarted(self) -> None:
        try:
            while self.unstarted and not self.error:
                self.run_block(self.unstarted.popleft())
        except BaseException as error:
            self.error = self.error or error
        self.pass_on()

    def pass_on(self) -> None:
        """This thread goes on no longer: another block has its turn."""
        if self.unstarted and not self.error:
            Thread(target=self.run_unstarted, daemon=True).start()
        elif self.waiting:
            self.waiting.popleft().release()
        else:
            self.all_done.set()

    def give_way(self) -> None:
        """Called by the block that runs: the others have a turn first. Raises Ended where one of them has failed."""
        turn = Semaphore(0)
        self.waiting.append(turn)
        self.pass_on()
        turn.acquire()
        if self.error:
            raise Ended
