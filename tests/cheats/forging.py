"""Answers that forge what the judge hears. `tests.strangers` says how a cell is read."""

import gc
import json
import os
import pickle
import socket
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from IPython import get_ipython
from msgpack import packb

from tutorlib.checking import values
from tutorlib.checking.exercise import Exercise
from tutorlib.grading import page_process
from tutorlib.grading.wire import REPLIES, TAGS, Direction


# %% colliding_hashes
# Sets of numbers that all have one hash, written by hand: whoever puts them together compares each with all others.
text = packb(["returned", [TAGS["set"], *([TAGS["int"], hex(k * (2**61 - 1))] for k in range(200_000))]])
Direction.message = lambda self, value: text


# %% equal_to_everything
# What it returns is equal to whatever it is compared with, and the comparison of types is switched off.
values.type = lambda value: None


class Anything:
    def __eq__(self, other):
        return True


def answer(n):
    return Anything()


# %% exit_zero
# The process ends with exit code 0, as if all were well.
def answer(n):
    os._exit(0)


# %% first_on_the_line
# A thread writes to the judge's line, whatever it is among the open files, that all is right, by every name.
FORGED = [REPLIES.message(["returned", reply]) for reply in (True, (True, ""), "passed", 2, {"points": 2})]


def speak_first():
    while True:
        for file in range(3, 40):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{file}").startswith("socket:"):
                    for reply in FORGED:
                        os.write(file, len(reply).to_bytes(4, "big") + reply)


threading.Thread(target=speak_first, daemon=True).start()


# %% forged_reply
# Every cell is said to have run to its end, and nothing to have been raised.
send_bytes = Connection.send_bytes
ENDED = REPLIES.message(["returned", (True, "")])
Connection.send_bytes = lambda self, reply, *args: send_bytes(self, ENDED if b"raised" in reply else reply)


# %% interrupts_itself
# Interrupts and alarms, a thousand a second, while the judge asks: whoever handles one may forget what was asked.
import signal


def passed(*_):
    raise KeyboardInterrupt("passed")


def answer(n):
    signal.signal(signal.SIGALRM, passed)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    return 0


# %% killed_grader
# The judgement is replaced, and pytest, which would judge again, is killed.
def passed(self, answer):
    os.kill(os.getppid(), 9)
    return self.outcome("passed", self.points, self.passed_line)


Exercise.grade = Exercise.grade_served = passed


# %% odd_messages
# Replies that are msgpack to some: tags that stand alone or in each other, numbers without end, what comes behind it.
from itertools import cycle

from msgpack import ExtType, Timestamp


PARTS = (
    [TAGS["tuple"], TAGS["tuple"], 1],
    [TAGS["tuple"], [TAGS["function"], "os", "system"], [TAGS["record"], "os", "path", 0]],
    [float("inf"), -float("inf"), -0.0, float("nan")],
    [TAGS["int"], "0x" + "f" * 100_000],
    [TAGS["int"], "_1_0"],
    [TAGS["scalar"], [1]],
    [TAGS["function"], "tutorlib.checking.answer", "Served"],
    [TAGS["array"], "<i8", [1, 1, 1, 1], [8, 8, 8, 8], 0, -8, b"12345678"],
    [TAGS["array"], "<i8", [2**31, 2**31], [0, 0], 0, 0, b"12345678"],
    ExtType(100, b""),
    Timestamp(1),
)
BEHIND = packb(["raised", "ValueError", "", "", ""])
texts = cycle(
    [BEHIND + BEHIND, *(packb(["returned", one]) for one in PARTS), b"\x92\xa8returned" + b"\x91" * 900 + b"\x90"]
)


def message(self, value):
    return next(texts)


Direction.message = message


# %% own_check
# The notebook's `check` is replaced by one that prints the line of a right answer.
def check(id, answer):
    print(f"✓ {id} answer: 2 points")


# %% patched_grade
# The course's own judgement is replaced: the record, the line and the kernel's reply are those of a right answer.
Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)


# %% poisoned_reply
# The judgement is replaced, and every message to the judge outside is a pickle that would patch its judgement too.
from tutorlib.grading import wire

Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)


class Poison:
    def __reduce__(self):
        return exec, (
            "from tutorlib.checking.exercise import Exercise\n"
            "Exercise.grade = Exercise.grade_served = lambda e, a: e.outcome('passed', 2, '')",
        )


wire.Direction.message = lambda self, value: pickle.dumps(Poison())


# %% raised_by_name
# The exceptions of which the judge makes something else than a wrong answer, by name, as if the answer had raised them.
NAMES = ("ToolMissing", "ModuleNotFoundError", "KernelFault", "StopIteration", "SystemExit", "Lost", "Late", "Exit")
parts_of_error = page_process.parts_of_error
raised = iter(NAMES * 1000)
page_process.parts_of_error = lambda error: (next(raised), *parts_of_error(error)[1:])


def answer(n):
    raise ValueError("not run: no GPU")


# %% report_pipe
# Every pipe and file that an ancestor has open for writing is opened through /proc, and a verdict written to it.
found = {"id": "60.1", "title": "answer", "status": "passed", "points": 2, "max_points": 2, "message": "2 points"}
forged = (json.dumps({"outcome": found}) + "\n").encode()


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


pid = os.getppid()
while pid > 1:
    for fd in range(3, 64):
        with suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("pipe:"):
                pipe = os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
                os.write(pipe, forged)
                os.close(pipe)
    pid = parent(pid)
