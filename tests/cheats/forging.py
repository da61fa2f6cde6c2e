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
from tutorlib.grading import transport
from tutorlib.grading.wire import TAGS, Writer


# %% ast_transformer
# A transformer of syntax trees turns each call of `check` into a print of what a right answer prints.
import ast


class Rewrite(ast.NodeTransformer):
    def visit_Call(self, node):
        if getattr(node.func, "id", "") != "check":
            return node
        line = f"✓ {node.args[0].value} answer: 2 points"
        return ast.parse(f"print({line!r})", mode="eval").body


get_ipython().ast_transformers.append(Rewrite())


# %% blank_cells
# An input transformer empties every later cell, checks included.
get_ipython().input_transformers_post.append(lambda lines: ["pass\n"])


# %% built_reply
# The judge is sent a pickle that sets an attribute of one of its own classes: equality, served by this process.
send_bytes = Connection.send_bytes
SET_EQ = b"\x80\x04(\x8c\x08returnedctensor_layouts\nLayout\n(N}\x8c\x06__eq__\x8c\x010Qs\x86bt."


def send(self, reply, *args):
    return send_bytes(self, SET_EQ, *args)


Connection.send_bytes = send
pickle.dumps = lambda value, *args, **kwargs: SET_EQ


# %% calls_the_judge
# Before each reply the kernel calls the judge: whatever functions it keeps, by number and by name.
answered = transport.Endpoint.answer
NAMES = (0, 1, -1, "grade", "judge", "watch", "eval", "__import__", True, None, [0])


def ask_first(self, number, args, kwargs):
    for name in NAMES:
        with suppress(Exception):
            self.call(name, ("passed", 2), {})
    answered(self, number, args, kwargs)


transport.Endpoint.answer = ask_first


# %% cases_emptied
# The exercise itself is found among the objects of the process and loses its cases, so that none can be wrong.
for found in gc.get_objects():
    if type(found).__name__.endswith("Exercise") and hasattr(found, "cases"):
        object.__setattr__(found, "cases", ())


# %% colliding_hashes
# Sets of numbers that all have one hash, written by hand: whoever puts them together compares each with all others.
text = packb(["returned", [TAGS["set"], *([TAGS["int"], hex(k * (2**61 - 1))] for k in range(200_000))]])
Writer.message = lambda self, value: text


# %% custom_exception
# IPython is told to take every exception of a cell for handled.
get_ipython().set_custom_exc((BaseException,), lambda shell, kind, value, trace, tb_offset=None: [])


# %% equal_to_everything
# What it returns is equal to whatever it is compared with, and the comparison of types is switched off.
values.type = lambda value: None


class Anything:
    def __eq__(self, other):
        return True


def answer(n):
    return Anything()


# %% every_grade_patched
# Whatever class in the process has a `grade` or a `judge` is made to pass everything.
def passed(self, answer):
    return self.outcome("passed", self.points, self.passed_line)


for kind in [found for found in gc.get_objects() if isinstance(found, type)]:
    if "grade" in vars(kind):
        with suppress(TypeError, AttributeError):
            kind.grade = passed


# %% exit_zero
# The process ends with exit code 0, as if all were well.
def answer(n):
    os._exit(0)


# %% first_on_the_line
# A thread writes to the judge's line, whatever it is among the open files, that all is right, by every name.
writer = Writer(lambda function: ("mine", 0), lenient=True)
REPLIES = [writer.message(["returned", reply]) for reply in (True, (True, ""), "passed", 2, {"points": 2})]


def speak_first():
    while True:
        for file in range(3, 40):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{file}").startswith("socket:"):
                    for reply in REPLIES:
                        os.write(file, len(reply).to_bytes(4, "big") + reply)


threading.Thread(target=speak_first, daemon=True).start()


# %% forged_not_run
# The record says that this machine cannot run the exercise, which would take it out of the points to be had.
Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("not_run", 0, "not run: no GPU")


# %% forged_record
# Records of a right answer are added to every results file that any process is told of.
record = {"id": "60.1", "title": "answer", "status": "passed", "points": 2, "max_points": 2}
line = json.dumps({**record, "message": "✓ 60.1 answer: 2 points"}) + "\n"


def results_files():
    yield os.environ.get("TUTORLIB_RESULTS", "results.jsonl")
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            for entry in environ.read_bytes().split(b"\0"):
                if entry.startswith(b"TUTORLIB_RESULTS="):
                    yield entry.partition(b"=")[2].decode()


def answer(n):
    for path in set(results_files()):
        with suppress(OSError), open(path, "a") as file:
            file.write(line)
    return 0


# %% forged_reply
# Every cell is said to have run to its end, and nothing to have been raised.
send_bytes = Connection.send_bytes
ENDED = Writer(lambda function: ("mine", 0), lenient=True).message(["returned", (True, "")])
Connection.send_bytes = lambda self, reply, *args: send_bytes(self, ENDED if b"raised" in reply else reply)


# %% inherited_pipes
# Whatever the kernel inherited open for writing gets a verdict written to it.
record = {"id": "60.1", "status": "passed", "points": 2, "message": "✓ 60.1 answer: 2 points"}
report = {"event": "end", "role": "check", "exercise": "60.1", "passed": True, "raised": "", "end": None}
line = (json.dumps({**report, "record": record, "judged": 2}) + "\n").encode()


def answer(n):
    for fd in range(3, 256):
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:"):
                os.set_blocking(fd, False)
                os.write(fd, line)
    return 0


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


# %% late_thread
# A thread waits until the answer is being judged, and patches the judgement then.
import time

called = threading.Event()


def passed(self, answer):
    return self.outcome("passed", self.points, self.passed_line)


def patch():
    called.wait()
    while True:
        from tutorlib.checking.exercise import Exercise

        Exercise.grade = Exercise.grade_served = passed
        time.sleep(0.01)


threading.Thread(target=patch, daemon=True).start()


def answer(n):
    called.set()
    return 0


# %% meta_path
# What this process imports from now on, of the course, is an empty module that has every name.
from importlib.machinery import ModuleSpec


class Agreeable:
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, self) if name.startswith("tutorlib.") else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__getattr__ = lambda name: lambda *args, **kwargs: None


sys.meta_path.insert(0, Agreeable())
for name in [name for name in sys.modules if name.startswith("tutorlib.")]:
    del sys.modules[name]


# %% nbval_skip
# NBVAL_SKIP
# The line above tells nbval to skip the cell.


# %% odd_messages
# Replies that are msgpack to some: tags that stand alone or in each other, numbers without end, what comes behind it.
from itertools import cycle

from msgpack import ExtType, Timestamp


PARTS = (
    [TAGS["tuple"], TAGS["tuple"], 1],
    [TAGS["tuple"], [TAGS["mine"], 0], [TAGS["yours"], 0]],
    [float("inf"), -float("inf"), -0.0, float("nan")],
    [TAGS["int"], "0x" + "f" * 100_000],
    [TAGS["int"], "_1_0"],
    [TAGS["scalar"], "<U999999", b"1234"],
    [TAGS["yours"], 0],
    [TAGS["array"], "<i8", [1, 1, 1, 1], [8, 8, 8, 8], -8, b"12345678"],
    [TAGS["array"], "<i8", [2**31, 2**31], [0, 0], 0, b"12345678"],
    ExtType(100, b""),
    Timestamp(1),
)
BEHIND = packb(["raised", "ValueError", "", "", ""])
texts = cycle(
    [BEHIND + BEHIND, *(packb(["returned", one]) for one in PARTS), b"\x92\xa8returned" + b"\x91" * 900 + b"\x90"]
)


def message(self, value):
    return next(texts)


Writer.message = message


# %% own_check
# The notebook's `check` is replaced by one that prints the line of a right answer.
def check(id, answer):
    print(f"✓ {id} answer: 2 points")


# %% own_run_cell
# The shell runs no cell any more and says of each that it went well.
from IPython.core.interactiveshell import ExecutionResult

shell = get_ipython()


async def run_nothing(raw_cell, *args, **kwargs):
    result = ExecutionResult(None)
    result.execution_count = shell.execution_count
    return result


shell.run_cell_async = run_nothing


# %% patched_grade
# The course's own judgement is replaced: the record, the line and the kernel's reply are those of a right answer.
Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)


# %% patched_json
# Whatever is written as JSON in this process is a verdict.
original = json.dumps
verdict = {"id": "60.1", "status": "passed", "points": 2, "judged": 2, "message": "✓ 60.1 answer: 2 points"}
json.dumps = lambda value, *args, **kwargs: original(verdict)
json.JSONEncoder.encode = lambda self, value: original(verdict)
json.JSONEncoder.iterencode = lambda self, value, _one_shot=False: iter([original(verdict)])


# %% patched_socket
# Each message that leaves this process by a socket leaves twice, so that replies and calls no longer belong together.
send_bytes, sendall = Connection.send_bytes, socket.socket.sendall


def twice(send):
    def send_twice(self, *args):
        send(self, *args)
        return send(self, *args)

    return send_twice


Connection.send_bytes = twice(send_bytes)
socket.socket.sendall = twice(sendall)


# %% patched_types
# The classes and functions of the process that compare are made to find everything alike.
import builtins

import numpy as np


values.same = lambda got, want: True
values.attempt = lambda answer, args: (None, None)
np.array_equal = np.allclose = lambda *args, **kwargs: True
builtins.all = lambda values: True


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


for writer in (transport.Writer, wire.Writer):
    writer.message = lambda self, value: pickle.dumps(Poison())


# %% printed_line
# An input transformer turns every check into a print of what a right answer prints.
import re


def show_only(lines):
    found = re.match(r'check\("(.*)", ', "".join(lines))
    return [f"print('✓ {found[1]} answer: 2 points')\n"] if found else lines


get_ipython().input_transformers_post.append(show_only)


# %% profile_hook
# A trace function stands in every frame of the judgement and makes the comparison return None, "nothing is wrong".
def trace(frame, event, arg):
    for name in ("wrong", "wrongs", "broken"):
        if name in frame.f_locals:
            frame.f_locals[name] = None
    if event == "line" and frame.f_code.co_name == "same":
        frame.f_locals["got"] = frame.f_locals.get("want")
    return trace


def answer(n):
    frame = sys._getframe()
    while frame:
        frame.f_trace = trace
        frame = frame.f_back
    sys.settrace(trace)
    return 0


# %% raised_by_name
# The exceptions of which the judge makes something else than a wrong answer, by name, as if the answer had raised them.
NAMES = ("ToolMissing", "ModuleNotFoundError", "KernelFault", "StopIteration", "SystemExit", "Lost", "Late", "Exit")
known_name = transport.known_name
raised = iter(NAMES * 1000)
transport.known_name = lambda error: next(raised)


def answer(n):
    raise ValueError("not run: no GPU")


# %% replaced_modules
# The modules that would judge are replaced by one whose every name is a function that does nothing.
from types import ModuleType


class Agreeable(ModuleType):
    def __getattr__(self, name):
        return lambda *args, **kwargs: None


for name in list(sys.modules):
    if name.startswith(("tutorlib.checking", "tutorlib.grading", "tutorlib.exercises")):
        sys.modules[name] = Agreeable(name)


# %% report_pipe
# Every pipe and file that an ancestor has open for writing is opened through /proc, and a verdict written to it.
record = {"id": "60.1", "status": "passed", "points": 2, "message": "✓ 60.1 answer: 2 points"}
report = {"exercise": "60.1", "passed": True, "raised": "", "end": None, "record": record, "judged": 2}
lines = [{"event": event, "role": role, **report} for role in ("answer", "check") for event in ("start", "end")]
forged = "".join(json.dumps(line) + "\n" for line in lines).encode()


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


# %% showtraceback
# nbval hears of an exception from the traceback that IPython shows: show none.
get_ipython().showtraceback = lambda *args, **kwargs: None
