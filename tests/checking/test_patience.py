"""Answers without an end: their check ends, its line says so, and the notebook is as it was."""

import builtins
import os
import resource
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from jupyter_client.manager import start_new_kernel

from tests.checking.elsewhere import Near
from tutorlib.checking import patience, values
from tutorlib.checking.values import ValueExercise, equals

DOUBLE = ValueExercise(
    id="99.1", title="double", points=2, cases=(equals("small", [(1,)], lambda n: 2 * n), equals("0", [(0,)], abs))
)


@pytest.fixture
def impatient(monkeypatch):
    for module in (patience, values):
        monkeypatch.setattr(module, "SECONDS", 0.2)


def endless(n):
    while True:
        n += 1


def catches_everything(n):
    while True:
        try:
            while True:
                n += 1
        except BaseException:
            continue


def catches_everything_in_a_helper(n):
    def helper():
        try:
            while True:
                pass
        except:  # noqa: E722  as a reader writes it
            pass

    while True:
        try:
            helper()
        finally:
            n += 1
            continue  # noqa: B012  it swallows what comes, too


def makes_another_of_it(n):
    try:
        while True:
            n += 1
    except BaseException:
        raise ValueError from None


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answer", [endless, catches_everything, catches_everything_in_a_helper])
def test_an_answer_that_never_ends_is_ended(answer):
    outcome = DOUBLE.grade(answer)
    assert (outcome.status, outcome.points) == ("timeout", 0)
    assert f"✗ 99.1 double: {answer.__name__}(1) was ended after 0.2 s of computing (line " in outcome.message
    assert outcome.message.endswith("of your answer). Which loop there never ends?")


@pytest.mark.usefixtures("impatient")
def test_an_end_that_comes_while_something_is_deleted_is_lost_without_a_word_and_comes_again(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    class Lingering:
        def __del__(self):
            while True:
                pass

    def leaves(n):
        while True:
            Lingering()

    assert DOUBLE.grade(leaves).status == "timeout"
    assert told == []
    assert sys.unraisablehook == told.append


@pytest.mark.usefixtures("impatient")
def test_what_else_goes_wrong_there_is_told(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(unraisable.exc_type))

    class Broken:
        def __del__(self):
            raise OSError

    def breaks(n):
        Broken()
        return 2 * n

    assert DOUBLE.grade(breaks).status == "passed"
    assert told == [OSError] * 2


@pytest.mark.usefixtures("impatient")
def test_nor_can_it_make_something_else_of_its_end():
    outcome = DOUBLE.grade(makes_another_of_it)
    assert outcome.status == "timeout"
    assert "no result after 0.2 s of computing" in outcome.message


@pytest.mark.usefixtures("impatient")
def test_comparing_what_it_gives_is_ended_too():
    def holds(got, n):
        while got:
            pass

    exercise = ValueExercise(id="99.1", title="double", points=2, cases=(values.law("all", [(1,)], holds),))
    outcome = exercise.grade(lambda n: 1)
    assert outcome.status == "timeout"
    assert "no result after 0.2 s of computing" in outcome.message


def state():
    signals = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGINT)]
    hooks = sys.getprofile(), threading.getprofile()
    return signals, hooks, signal.getitimer(signal.ITIMER_REAL), resource.getrlimit(resource.RLIMIT_DATA)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answer", [endless, catches_everything, makes_another_of_it, lambda n: 2 * n, lambda n: 1 / 0])
def test_everything_is_afterwards_as_it_was(answer):
    before = state()
    DOUBLE.grade(answer)
    assert state() == before


def interrupted(answer):
    """What comes out of a check that the reader interrupts."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        return DOUBLE.grade(answer)
    finally:
        timer.join()


@pytest.fixture
def interruptible():
    """As a notebook is. Who was started in a shell's background is not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("answer", [endless, catches_everything, catches_everything_in_a_helper, makes_another_of_it])
def test_the_reader_s_own_interrupt_ends_it(answer):
    before = state()
    with pytest.raises(KeyboardInterrupt):
        interrupted(answer)
    assert state() == before


@pytest.mark.usefixtures("impatient")
def test_an_import_comes_to_its_end(tmp_path, monkeypatch):
    """Half a module would stay for as long as the kernel does: torch takes seconds."""
    (tmp_path / "slowly.py").write_text("import time\nwhile time.thread_time() < until: pass\nready = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(builtins, "until", time.thread_time() + 0.6, raising=False)

    def imports(n):
        import slowly

        while slowly.ready:
            pass

    assert "imports(1) was ended" in DOUBLE.grade(imports).message
    assert sys.modules.pop("slowly").ready


@pytest.mark.usefixtures("impatient")
def test_waiting_is_no_computing():
    """Whoever stands at a breakpoint, or shares two cores with others, has the same time."""

    def waits(n):
        time.sleep(0.4)
        return 2 * n

    assert DOUBLE.grade(waits).status == "passed"


@pytest.mark.parametrize("size", [10**4, 10**12])
def test_an_answer_that_takes_all_memory_runs_out_of_it(size, monkeypatch):
    monkeypatch.setattr(patience, "MEMORY", 2**27)

    def grows(n):
        kept = []
        while n:
            kept.append([0] * size)
        return 0

    outcome = DOUBLE.grade(grows)
    assert (outcome.status, outcome.points) == ("partial", 1)
    assert "small: grows(1) ran out of memory (line " in outcome.message


def test_a_recursion_without_an_end_is_told_as_one():
    def double(n):
        return double(n)

    message = DOUBLE.grade(double).message
    assert "double(1) raised RecursionError: maximum recursion depth exceeded" in message
    assert "sys.setprofile" not in message  # Python takes the hook away that watches the answer


def test_on_another_thread_nothing_is_limited():
    before = state()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(DOUBLE.grade, lambda n: 2 * n).result().status == "passed"
    assert state() == before


def test_an_answer_of_another_process_has_the_limits_of_whoever_grades_it(monkeypatch):
    monkeypatch.delattr(values, "Patience")
    monkeypatch.setattr(Near, "watch", lambda self, library: None)
    assert DOUBLE.grade(Near(lambda n: 2 * n)).status == "passed"


CELLS = {
    "start": """
from tutorlib import check
from tutorlib.checking import patience, values
patience.SECONDS = values.SECONDS = 0.2

def ceil_div(n, tile):
    while True:
        try:
            while True:
                n += 1
        except BaseException:
            pass
""",
    "ended": 'check("00.1", ceil_div)',
    "interrupted": 'patience.SECONDS = 3600\nprint("here")\ncheck("00.1", ceil_div)',
    "after": 'check("00.1", lambda n, tile: -(-n // tile))',
}


def test_a_kernel_goes_on():
    manager, client = start_new_kernel()
    said = {}

    def hook(message):
        content = message["content"]
        if message["msg_type"] == "stream":
            said[name] = content["text"]
            if said[name] == "here\n":
                threading.Timer(1, manager.interrupt_kernel).start()
        elif message["msg_type"] == "error":
            said[name] = "\n".join(content["traceback"])

    try:
        for name, code in CELLS.items():  # noqa: B007  the hook reads it
            client.execute_interactive(code, output_hook=hook, timeout=120)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert "✗ 00.1 ceil_div: ceil_div(128, 64) was ended after 0.2 s of computing" in said["ended"]
    assert "KeyboardInterrupt" in said["interrupted"]
    assert said["after"] == "✓ 00.1 ceil_div: 2 points\n"
