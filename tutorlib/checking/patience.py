"""Limits on a check in a notebook: an endless answer costs its check, and neither the page nor the kernel.

The answer runs in the reader's own process, on the main thread. A timer's signal interrupts it four times a second to
see whose code runs and to count its time, and at the limit raises an exception that no `except Exception` catches.
Python runs signal handlers between its own instructions, so an endless call of C code, such as
`sum(itertools.count())` or a compiled host function, ends only with the kernel. The grader kills processes instead.
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

from tutorlib.checking.exercise import Answer, Exercise, Outcome, Verdict
from tutorlib.checking.library_use import INSTALLED, plain_function

SECONDS = 10.0  # of computing on this thread: several times the slowest right answer of the course
KERNEL = 3  # times as many where the answer may call a compiler
WAITING = 300.0  # seconds that may pass while the answer sleeps or waits for another thread
MEMORY = 2**32  # bytes that an answer may allocate
LOOK_S = 0.25  # between two looks
AGAIN_S = 20e-6, 1e-3  # until it is ended again after it has caught its end: the first time, and later ones
KEPT_WHOLE = [contextlib.__file__]  # it must restore the state that it changes
CUTE = "/nvidia_cutlass_dsl/"
MOST_SPARED = 10_000  # looks
IMPORT = "<frozen importlib._bootstrap>"
DEBUGGERS = "/bdb.py", "/pydevd.py", "/ipykernel/kernelbase.py"  # the last one waits for what the reader types


class OutOfPatience(BaseException):
    """Ends the answer's code. It is no Exception, since answers catch those.

    call: the interrupted call of the answer, as the reader would type it.
    """

    call = ""


def grade_patiently(exercise: Exercise, answer: Answer) -> Outcome:
    """The outcome of an answer that runs in this process; "timeout" if it does not end.

    An exercise that any machine grades has a memory limit, and its judge's time counts, too: comparing a large value
    takes long. The judge of a kernel compiles and simulates; there only the time of the answer's code counts.
    """
    patience = Patience(whole=exercise.needs is None)
    try:
        with patience:
            return exercise.grade(answer)
    except OutOfPatience as end:
        what = f"{end.call or 'it'} was ended after {patience.used}{patience.place_in(answer)}."
        return exercise.outcome_of(Verdict(0, (f"{what} {patience.question}",), "timeout"))


class Patience:
    """While its block runs, this thread computes for SECONDS and waits for WAITING, and no more.

    whole: whether all of the block counts, and not only while code of the reader's runs; memory then has a limit too.
        Otherwise it is a kernel's answer, which may compute KERNEL times as long.
    Raises OutOfPatience in the block, and MemoryError. Like the reader's own interrupt, which is a KeyboardInterrupt,
    it is raised again for as long as code of the reader's catches it and goes on. On any other thread than the main one
    nothing is raised.
    """

    def __init__(self, whole: bool) -> None:
        self.whole, self.seconds = whole, SECONDS * (1 if whole else KERNEL)
        self.main = threading.current_thread() is threading.main_thread()
        self.ending: type[BaseException] | None = None
        self.raised = False
        self.spared = 0
        self.computed = self.passed = 0.0
        self.place: tuple[str, int] | None = None

    def __enter__(self) -> None:
        if not self.main:
            return
        self.outside = sys._getframe(1)
        self.looked = time.thread_time(), time.monotonic()
        self.limits = resource.getrlimit(resource.RLIMIT_DATA)
        if self.whole:
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
        if self.ending and not isinstance(error, self.ending):  # the answer made something else of it
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
        running = list(self.running(frame))
        if number == signal.SIGINT:
            self.ending, self.raised = KeyboardInterrupt, False
        elif self.ending is None and self.is_over(running):
            self.ending = OutOfPatience
        if self.ending is None:
            return
        own = next((depth for depth, place in enumerate(running) if is_the_reader_s(place)), None)
        if self.raised and own is None:
            signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
            return
        signal.setitimer(signal.ITIMER_REAL, *AGAIN_S)
        if not self.kept_whole([file for file, _ in running], own):
            self.place = self.place or (None if own is None else running[own])
            self.raised = True
            raise self.ending

    def is_over(self, running: list[tuple[str, int]]) -> bool:
        """Counts the time since the last look, and says whether a limit is reached."""
        (computed, passed), self.looked = self.looked, (time.thread_time(), time.monotonic())
        own = any(map(is_the_reader_s, running))
        if own or self.whole:
            self.computed += self.looked[0] - computed
        if own and not any(file.endswith(DEBUGGERS) for file, _ in running):
            self.passed += self.looked[1] - passed
        return self.computed > self.seconds or self.passed > WAITING

    @property
    def used(self) -> str:
        return f"{self.seconds:g} s of computing" if self.computed > self.seconds else f"{WAITING:g} s"

    @property
    def question(self) -> str:
        if self.computed <= self.seconds:
            return "Which loop there never ends, or what does it wait for?"
        where = "there" if self.place else "in it, or in what it returns,"
        return f"Which loop {where} never ends, or takes too many steps?"

    def place_in(self, answer: Answer) -> str:
        """ " (line 4 of your answer)", where the code ran that was ended; "" where it was not the reader's."""
        if not self.place:
            return ""
        file, line = self.place
        function = plain_function(answer)
        of_answer = function is None or file == function.__code__.co_filename
        return f" (line {line} of {'your answer' if of_answer else 'a cell that your answer uses'})"

    def told_elsewhere(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """An end that came while something was being deleted, where nothing can be raised, is lost and comes again."""
        if not (self.ending and issubclass(unraisable.exc_type, self.ending)):
            self.hook(unraisable)

    def kept_whole(self, files: list[str], own: int | None) -> bool:
        """Whether what runs must not be ended in its middle. The reader may end an import, and no timer does.

        own: how many calls are within the innermost code of the reader's; None where none of it runs. Within CuTe an
        exception may pass through C++ that ends the process, or leave half a trace behind, with which no later
        compilation works. It waits until the reader's own code goes on, for ten seconds.
        """
        if own is not None and any(CUTE in file for file in files[:own]) and self.spared < MOST_SPARED:
            self.spared += 1
            return True
        return files[:1] == KEPT_WHOLE or (IMPORT in files and self.ending is OutOfPatience)

    def running(self, frame: FrameType | None) -> Iterator[tuple[str, int]]:
        """The file and the line of each call in progress inside the block, the innermost first."""
        while frame is not None and frame is not self.outside:
            yield frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back


def is_the_reader_s(place: tuple[str, int]) -> bool:
    return not place[0].startswith((*INSTALLED, "<frozen"))
