"""Functions that run as coroutines and switch only where they issue an instruction."""

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any

from tutorlib.checking.rehearsing.call_site import calling_line
from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe

PATIENCE = 5  # seconds without an instruction, after which a loop counts as endless


def closed() -> Any:
    """A lock that one thread acquires, and so waits, until another releases it."""
    lock = Lock()
    lock.acquire()
    return lock


def at_once() -> bool:
    return True


class Over(BaseException):
    """Ends a function when the rehearsal has ended; no `except Exception` of a main loop catches it."""


def stop(thread: Thread) -> None:
    """Raise Over in a thread, at whatever line it runs."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Over))


@dataclass(eq=False)
class Actor:
    """A function of a rehearsal. ready: whether it can go on; called while it waits for its turn."""

    plays: Callable[[], None] = field(init=False)
    ready: Callable[[], bool] = field(default_factory=lambda: at_once, init=False)
    patient: bool = field(default=False, init=False)  # goes on, ready or not, when no other can
    done: bool = field(default=False, init=False)
    turn: Any = field(default_factory=closed, init=False)


@dataclass(eq=False)
class Turns:
    """Whose turn it is.

    choose: one of those that can go on. idle: makes something happen when none can; False if nothing is left.
    stuck: raises the deadlock's message then.
    """

    choose: Callable[[list[Any]], Any]
    idle: Callable[[], bool]
    stuck: Callable[[], None]
    actors: list[Any] = field(default_factory=list)
    running: Any = None
    issued: int = 0
    error: BaseException | None = None
    over: bool = False
    curtain: Any = field(default_factory=closed)

    def play(self, actors: list[Any]) -> None:
        """Until all are done. Raises what the first of them raises."""
        self.actors = actors
        threads = [Thread(target=self.act, args=(actor,), daemon=True) for actor in actors]
        for thread in threads:
            thread.start()
        self.running = self.next()
        self.running.turn.release()
        try:
            self.await_end(threads)
        finally:
            self.end(None)
        for thread in threads:
            thread.join(timeout=1)
        if self.error:
            raise self.error

    def await_end(self, threads: list[Thread]) -> None:
        seen = -1
        while not self.curtain.acquire(timeout=PATIENCE):
            if self.issued == seen:
                thread = threads[self.actors.index(self.running)]
                line = calling_line(sys._current_frames().get(thread.ident or 0))
                self.end(
                    Unsafe(f"{line}: the loop does not end: it goes round without issuing anything.", LoopFlaw.ENDLESS)
                )
                stop(thread)
            seen = self.issued

    def act(self, actor: Any) -> None:
        actor.turn.acquire()
        try:
            if not self.over:
                actor.plays()
                actor.done = True
                self.hand_over()
        except Over:
            pass
        except BaseException as error:
            self.end(error)

    def wait(self, ready: Callable[[], bool], patient: bool = False) -> None:
        """Let others go first, at least until the running one is ready."""
        if self.over:
            raise Over
        me = self.running
        self.issued += 1
        me.ready, me.patient = ready, patient
        if self.hand_over():
            me.turn.acquire()
        if self.over:
            raise Over
        me.ready, me.patient = at_once, False

    def hand_over(self) -> bool:
        """Whether another coroutine has the turn."""
        before, after = self.running, self.next()
        if after is None:
            self.end(None)
        elif after is not before:
            self.running = after
            after.turn.release()
            return True
        return False

    def next(self) -> Any:
        """Whose turn it is now; None where all are done."""
        while waiting := [actor for actor in self.actors if not actor.done]:
            if able := [actor for actor in waiting if actor.ready()]:
                return self.choose(able)
            if self.idle():
                continue
            if patient := [actor for actor in waiting if actor.patient]:
                return patient[0]
            self.stuck()
        return None

    def end(self, error: BaseException | None) -> None:
        if not self.over:
            self.over, self.error = True, error
            for actor in self.actors:
                if actor.turn.locked():
                    actor.turn.release()
            self.curtain.release()
