"""A time limit on a check in a notebook: an answer without an end costs its check, and not the kernel.

The answer runs in the reader's own process, where a timer's signal interrupts it. Python runs signal handlers between
its own instructions, so an endless call of C code ends only with the kernel. A kernel exercise has no limit: its judge
compiles and simulates, and the reader can interrupt. The grader kills processes instead.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tutorlib.checking.exercise import Answer, Exercise, Outcome, Verdict
from tutorlib.checking.served import place_in

SECONDS = 30.0  # a right answer takes less than one
AGAIN_S = 0.5  # until an answer that has caught its end is ended again
CUTE = "/nvidia_cutlass_dsl/"  # an exception that passes through its C++ may end the process


class OutOfPatience(BaseException):
    """Ends the answer's code. It is no Exception, since answers catch those.

    call: the interrupted call of the answer, as the reader would type it.
    """

    call = ""


def grade_patiently(exercise: Exercise, answer: Answer) -> Outcome:
    """The outcome of an answer that runs in this process; "timeout" if it does not end."""
    if exercise.needs or threading.current_thread() is not threading.main_thread():
        return exercise.grade(answer)
    try:
        with time_limit():
            return exercise.grade(answer)
    except OutOfPatience as end:
        what = f"{end.call or 'it'} was ended after {SECONDS:g} s{place_in(answer, end)}."
        lines = (f"{what} Which loop never ends, or takes too many steps?",)
        return exercise.outcome_of(Verdict(0, lines, "timeout"))


@contextmanager
def time_limit() -> Iterator[None]:
    """Raises OutOfPatience in its block after SECONDS."""

    def ring(number: int, frame: FrameType | None) -> None:
        if frame is None or CUTE not in frame.f_code.co_filename:
            raise OutOfPatience

    alarm = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, SECONDS, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, alarm)
