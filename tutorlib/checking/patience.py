"""What a check in a notebook puts up with: an answer without an end ends its check, not the page and not its kernel.

The answer runs in the reader's own process, on the thread that shows the page, so a timer's signal has to raise there
what no `except Exception` stops. Whoever grades has a process to end, and limits of its own.
"""

import contextlib
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType, TracebackType

import psutil

from tutorlib.checking import leaning
from tutorlib.checking.exercise import NeverEnds

SECONDS = 30.0  # of computing on this thread: 15 times what the slowest right answer of the course takes
MEMORY = 2**32  # bytes that an answer may take beside what the notebook has
LOOK_S = 0.25  # how often it is looked
AGAIN_S = 20e-6, 1e-3  # until it is ended once more where it caught its end: the first time, and from then on
KEPT_WHOLE = ([leaning.__file__], [contextlib.__file__])  # what they set for a while they must take back
IMPORT = "<frozen importlib._bootstrap>"


class OutOfPatience(BaseException):
    """Comes out of the answer's own code. Not an Exception, which answers catch."""


class Patience:
    """While its block runs, this thread computes for so many seconds and takes so many bytes, and no more.

    Raises OutOfPatience in the block after that, and MemoryError. Like the reader's own interrupt, it is raised again
    for as long as code of the reader's catches it and goes on. On any other thread than the main one nothing is raised.
    """

    def __init__(self) -> None:
        self.main = threading.current_thread() is threading.main_thread()
        self.ending: type[BaseException] | None = None
        self.raised = False

    def __enter__(self) -> None:
        if not self.main:
            return
        self.outside = sys._getframe(1)
        self.until = time.thread_time() + SECONDS
        self.limits = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (self.most_memory(), self.limits[1]))
        self.alarm = signal.signal(signal.SIGALRM, self.look)
        self.interrupt = signal.getsignal(signal.SIGINT)
        if self.interrupt is signal.default_int_handler:
            signal.signal(signal.SIGINT, self.look)
        self.hook, sys.unraisablehook = sys.unraisablehook, self.told_elsewhere
        self.timer = signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self.main:
            signal.setitimer(signal.ITIMER_REAL, *self.timer)
            signal.signal(signal.SIGALRM, self.alarm)
            signal.signal(signal.SIGINT, self.interrupt)
            resource.setrlimit(resource.RLIMIT_DATA, self.limits)
            sys.unraisablehook = self.hook
        if self.ending and not isinstance(error, (self.ending, NeverEnds)):  # the answer made something else of it
            raise self.ending from None

    def most_memory(self) -> int:
        """Bytes of data that the process may have: half of what is free, if that is less than MEMORY."""
        more = min(MEMORY, psutil.virtual_memory().available // 2)
        most = psutil.Process().memory_info().data + more
        return min(most, *(limit for limit in self.limits if limit != resource.RLIM_INFINITY), most)

    def look(self, number: int, frame: FrameType | None) -> None:
        """The handler of both signals."""
        if frame is not None and frame.f_code.co_filename == __file__:  # this method's own, which is about to raise
            return
        if number == signal.SIGINT:
            self.ending, self.raised = KeyboardInterrupt, False
        elif self.ending is None and time.thread_time() > self.until:
            self.ending = OutOfPatience
        if self.ending is None:
            return
        if self.raised and not self.caught_in(frame):
            signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
            return
        signal.setitimer(signal.ITIMER_REAL, *AGAIN_S)
        if not self.kept_whole(frame):
            self.raised = True
            raise self.ending

    def told_elsewhere(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """An end that came while something was being deleted, where nothing can be raised, is lost and comes again."""
        if not (self.ending and issubclass(unraisable.exc_type, self.ending)):
            self.hook(unraisable)

    def kept_whole(self, frame: FrameType | None) -> bool:
        """Whether what runs must not be ended in its middle. The reader may end an import, and no timer does."""
        running = list(self.files(frame))
        return running[:1] in KEPT_WHOLE or (IMPORT in running and self.ending is OutOfPatience)

    def caught_in(self, frame: FrameType | None) -> bool:
        """Whether code of the reader's still runs inside the block."""
        return any(not file.startswith((*leaning.INSTALLED, "<frozen")) for file in self.files(frame))

    def files(self, frame: FrameType | None) -> Iterator[str]:
        """Whose code runs inside the block, the innermost first."""
        while frame is not None and frame is not self.outside:
            yield frame.f_code.co_filename
            frame = frame.f_back
