"""The judge outside the page's process: which values cross, and that nothing else does."""

import os
import threading
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest
import tensor_layouts as tl
import torch
from msgpack import ExtType, packb
from tensor_layouts import ComposedLayout, Layout, Swizzle

from tutorlib.checking.answer import Served, WrongKind
from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.checking.values import Case, ValueExercise, equals, law
from tutorlib.compiling.errors import CompileFailed
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.exercises.judges.p18 import with_gate
from tutorlib.failure import Fail, Flaw
from tutorlib.grading.page_process import Answers
from tutorlib.grading.remote_judge import Late, Lost, RemotePage, judge
from tutorlib.grading.wire import REPLIES, REQUESTS, TAGS, CannotCross, Opaque
from tutorlib.models.memory import H100
from tutorlib.problems.differences import Wrong
from tutorlib.simulate.ptx import NotSimulated


def judged_from_afar(
    exercise: Exercise, answer: Any, seconds: float = 300.0, kind: Callable[[Any], Served] = Served
) -> Outcome:
    """An answer judged over a line: a thread serves it as a page's process does, or as a process that lies.

    kind: makes the answer's side of the interface. Raises Late, Lost.
    """
    ours, theirs = Pipe()
    name = getattr(answer, "__name__", "answer")
    threading.Thread(target=serve, args=(theirs, {name: answer}, kind), daemon=True).start()
    with ours:
        return judge(exercise, RemotePage(ours), name, seconds)


def serve(line: Connection, names: dict[str, Any], kind: Callable[[Any], Served]) -> None:
    answers = type("OfAKind", (Answers,), {"kind": staticmethod(kind)})(line, names)
    with line:
        while call := answers.next_call():
            answers.answer(*call)


def exercise_of(*cases) -> ValueExercise:
    return ValueExercise(id="90.1", title="answer", points=len(cases), cases=cases)


LAYOUT = Layout((4, 3), (3, 1))
VALUES = [3, -(2**80), 2.5, "text", "\udcff", (1, (2, 3)), [None, True], {"a": (1,)}, {3}, range(3), b"a", np.int64(3)]
VALUES += [LAYOUT, Swizzle(3, 3, 3), ComposedLayout(Swizzle(3, 0, 3), Layout((8, 8), (8, 1))), H100]
BASE = np.arange(60, dtype=np.float32).reshape(6, 10)
VIEWS = [BASE, BASE.T, BASE[::2, 3:], BASE[::-1], np.broadcast_to(BASE[0], (4, 10))]


def test_values_cross_to_the_judge_and_back():
    cases = [equals(str(value), [(value,)], lambda value: value) for value in VALUES]
    outcome = judged_from_afar(exercise_of(*cases), lambda value: value)
    assert outcome.status == "passed", outcome.message


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int64])
def test_tensors_cross(dtype):
    tensor = torch.arange(6).view(2, 3).to(dtype).T

    gaps = torch.arange(40).to(dtype)[3:].as_strided((3, 4), (9, 2), 5)

    def holds(got, tensor):
        alike = got.dtype == dtype and got.float().equal(tensor.float())
        alike = alike and (got.stride() == tensor.stride() or not tensor.numel())
        return None if alike and (got.data_ptr() - tensor.data_ptr()) % 64 == 0 else "another"

    case = law("tensors", [(tensor,), (gaps,), (tensor[:0],), (gaps[0].expand(5, 4),)], holds)
    assert judged_from_afar(exercise_of(case), lambda tensor: tensor).status == "passed"


def test_views_keep_their_strides():
    def holds(got, view):
        array, strides = got
        return None if strides == view.strides and np.array_equal(array, view) else "another view"

    case = law("views", [(view,) for view in VIEWS], holds)
    outcome = judged_from_afar(exercise_of(case), lambda view: (view, view.strides))
    assert outcome.status == "passed", outcome.message


def test_a_returned_function_stays_where_it_is():
    case = law("a function", [(3,)], lambda got, n: None if got(4) == n + 4 else "wrong")
    assert judged_from_afar(exercise_of(case), lambda n: lambda m: n + m).status == "failed"


def test_exceptions_cross_by_name():
    def holds_back(answer):
        try:
            answer(3)
        except ZeroDivisionError as error:
            return None if str(error) == "division by zero" else Wrong("another text")
        return Wrong("no exception")

    case = Case("raises", holds_back)
    assert judged_from_afar(exercise_of(case), lambda n: n / 0).status == "passed"
    assert judged_from_afar(exercise_of(case), lambda n: n).status == "failed"


def test_a_failure_crosses_with_its_kind():
    def refuses():
        raise WrongKind(Flaw("no layout", Fail.GIVES(type="int")))

    outcome = judged_from_afar(exercise_of(equals("a call", [()], lambda: 3)), refuses)
    assert outcome.message.failures == (Fail.GIVES(type="int"),)


def test_functions_go_to_the_answer_by_name_and_never_come_back():
    with pytest.raises(CannotCross):
        REQUESTS.message(load_answers)
    message = REQUESTS.message(with_gate)
    assert REQUESTS.value(message) is with_gate
    with pytest.raises(CannotCross):
        REPLIES.value(message)
    assert isinstance(REPLIES.value(REPLIES.message(with_gate)), Opaque)


def test_an_exception_crosses_as_a_value():
    failed = REPLIES.value(REPLIES.message(CompileFailed("what to do", original="its words")))
    assert (type(failed), str(failed), failed.original) == (CompileFailed, "what to do", "its words")
    lacks = REPLIES.value(REPLIES.message(NotSimulated("brkpt")))
    assert (isinstance(lacks, NotSimulated), str(lacks)) == (True, str(NotSimulated("brkpt")))


class Stranger:
    def __eq__(self, other):
        return True


class Wordless(Exception):
    def __str__(self):
        raise RuntimeError


def endless():
    nested = []
    for _ in range(20_000):
        nested = [nested]
    return nested


def raises_wordless():
    raise Wordless


@pytest.mark.parametrize("value", [Stranger(), threading.Lock(), int, np.array([Stranger()]), endless()])
def test_other_values_equal_nothing(value):
    case = equals("3", [()], lambda: 3)
    assert judged_from_afar(exercise_of(case), lambda: value).status == "failed"


@pytest.mark.parametrize("answer", [raises_wordless, lambda: "x" * 2**21, lambda: 1 / 0, lambda: None.x])
def test_no_words_and_many_are_harmless(answer):
    case = equals("3", [()], lambda: 3)
    outcome = judged_from_afar(exercise_of(case), answer)
    assert outcome.status == "failed"
    assert len(outcome.message) < 2**14


def test_that_a_package_is_missing_is_not_for_the_answer_to_say():
    def missing():
        raise ModuleNotFoundError("no torch", name="torch")

    asks = Case("asks", lambda answer: answer())
    assert judged_from_afar(exercise_of(asks), missing).status == "failed"


def tagged(kind: str, *parts: object) -> list:
    return [TAGS[kind], *parts]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\xc1" * 100,
        b"\xdd\xff\xff\xff\xff",  # a list of 2**32 elements, none of which is there
        b"\xdd\x00\x10\x00\x00" * 1000,
        b"\xdb\xff\xff\xff\xff",  # a text
        b"\x91" * 20_000 + b"\x90",
        packb(1) + packb(2),
        packb(ExtType(100, b"")),
        b"\xd4\xfd\x00",
        packb(ExtType(TAGS["opaque"].code, b"data")),
        packb(tagged("set", [1])),
        packb({(): 1, ((),): [1]}) + b"\x01",
        b"\x81\x90\x01",  # a list as a key
        packb(tagged("Layout", "a", 1)),
        packb(tagged("int", 5)),
        packb(tagged("array", "<f4", [10**12], [0], 0, 0, b"1234")),
        packb(tagged("array", "<f4", [2], [4], 0, 0, b"1234")),
        packb(tagged("array", "<f4", [2], [4], 0, 4, b"12345678")),
        packb(tagged("array", "<f4", [2], [-4], 0, 0, b"12345678")),
        packb(tagged("array", "<f4", [-1, -(2**30)], [4, 4], 0, 0, b"12345678")),
        packb(tagged("array", "O", [1], [8], 0, 0, b"12345678")),
        packb(tagged("scalar", 3)),
        packb(tagged("tensor", "load", tagged("array", "<i4", [2], [4], 0, 0, b"12345678"))),
        packb(tagged("tensor", "float32", tagged("array", "<i4", [2], [-4], 0, 4, b"12345678"))),
        packb(tagged("tensor", "float32", [1, 2])),
        packb(tagged("flaw", "words", "no fault")),
        packb(tagged("record", "os", "PathLike")),
        packb(tagged("record", "tutorlib.models.l2", "os")),
        packb(tagged("record", "tutorlib.models.l2", "__builtins__")),
        packb(tagged("record", "tutorlib.models.memory", "Sm", 1)),
        packb(tagged("function", "tutorlib.checking.host_templates", "with_gate")),
    ],
)
def test_what_is_no_message_is_refused(sent):
    with pytest.raises(CannotCross):
        REPLIES.value(sent)


def test_a_reply_made_by_hand_is_wrong_and_no_more(tmp_path, monkeypatch):
    case = equals("3", [()], lambda: 3)
    forged = packb(["returned", tagged("record", "os", "system", "touch poisoned")])
    monkeypatch.chdir(tmp_path)
    send = Connection.send_bytes

    def forge(self, sent):
        send(self, forged if b"returned" in sent else sent)

    monkeypatch.setattr(Connection, "send_bytes", forge)
    assert judged_from_afar(exercise_of(case), lambda: 3).status == "failed"
    assert not os.path.exists("poisoned")


def test_what_an_answer_names_is_found_where_it_lives():
    lent = find("03.2")
    outcome = judged_from_afar(lent, lambda a, b: tl.compose(a, b))
    assert (outcome.points, "tl.compose" in outcome.message) == (0, True)


def test_the_judge_does_not_wait_for_ever():
    never = threading.Event()
    case = equals("3", [()], lambda: 3)
    with pytest.raises(Lost, match="no result in time"):
        judged_from_afar(exercise_of(case), lambda: never.wait(), seconds=0.2)


def test_nor_in_the_middle_of_a_message(monkeypatch):
    send, judge = Connection.send_bytes, threading.current_thread()

    def stall(self, sent):
        if threading.current_thread() is judge:
            return send(self, sent)
        os.write(self.fileno(), b"\0\0\1\0half")
        threading.Event().wait()

    monkeypatch.setattr(Connection, "send_bytes", stall)
    with pytest.raises(Late):
        judged_from_afar(exercise_of(equals("3", [()], lambda: 3)), lambda: 3, seconds=0.5)


def test_what_cannot_cross_is_wrong():
    looks_inside = Case("looks inside", lambda answer: Wrong("no") if getattr(answer, "kind", None) is None else None)
    takes_a_lock = law("a lock", [(threading.Lock(),)], lambda got, lock: None)
    for case in (looks_inside, takes_a_lock):
        assert judged_from_afar(exercise_of(case), lambda value: value).points == 0


@pytest.mark.parametrize("returned", [Stranger(), lambda: 3])
def test_only_the_exercise_decides_what_cannot_cross(returned):
    """A judge that shows, looks into, or passes on what was returned: none of it may end the judging."""

    def passes_on(answer):
        return None if answer(answer(3)) == 3 else Wrong("no")

    cases = [
        equals("shown", [(3,)], lambda n: n),
        law("looked into", [(3,)], lambda got, n: None if got.kind else "no"),
        law("unpacked", [(3,)], lambda got, n: None if [*got] else "no"),
        Case("passed on", passes_on),
    ]
    for case in cases:
        assert judged_from_afar(exercise_of(case), lambda n: returned).status == "failed"


def test_a_librarys_value_error_is_one_outside_too():
    def raises_a_layout_error(a, b):
        assert issubclass(tl.LayoutError, ValueError)
        return tl.compose(a, b)

    case = next(case for case in find("03.2").cases if case.name == "no layout is the answer")
    assert case.judge(raises_a_layout_error) is None
    exercise = type(find("03.2"))(id="90.1", title="answer", points=1, cases=(case,))
    assert judged_from_afar(exercise, raises_a_layout_error).points == 1
