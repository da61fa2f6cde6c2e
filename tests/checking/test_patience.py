"""Answers without an end: their check ends, its line says so, and the notebook is as it was."""

import bdb
import builtins
import os
import resource
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import cutlass
import pytest
from cutlass import cute
from jupyter_client.manager import start_new_kernel

from tutorlib.checking import patience, values
from tutorlib.checking.exercise import Exercise, Verdict
from tutorlib.checking.patience import grade_patiently
from tutorlib.checking.values import ValueExercise, equals
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.machine.features import TMA

DOUBLE = ValueExercise(
    id="99.1", title="double", points=2, cases=(equals("small", [(1,)], lambda n: 2 * n), equals("0", [(0,)], abs))
)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(patience, "SECONDS", 0.2)
    monkeypatch.setattr(patience, "KERNEL", 1)


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
    outcome = grade_patiently(DOUBLE, answer)
    assert (outcome.status, outcome.points) == ("timeout", 0)
    assert f"✗ 99.1 double: {answer.__name__}(1) was ended after 0.2 s of computing (line " in outcome.message
    assert outcome.message.endswith("of your answer). Which loop there never ends, or takes too many steps?")


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

    assert grade_patiently(DOUBLE, leaves).status == "timeout"
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

    assert grade_patiently(DOUBLE, breaks).status == "passed"
    assert told == [OSError] * 2


@pytest.mark.usefixtures("impatient")
def test_nor_can_it_make_something_else_of_its_end():
    outcome = grade_patiently(DOUBLE, makes_another_of_it)
    assert outcome.status == "timeout"
    assert "it was ended after 0.2 s of computing" in outcome.message


@pytest.mark.usefixtures("impatient")
def test_comparing_what_it_gives_is_ended_too():
    def holds(got, n):
        while got:
            pass

    exercise = ValueExercise(id="99.1", title="double", points=2, cases=(values.law("all", [(1,)], holds),))
    outcome = grade_patiently(exercise, lambda n: 1)
    assert outcome.status == "timeout"
    assert "it was ended after 0.2 s of computing" in outcome.message


def state():
    signals = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGINT)]
    hooks = sys.getprofile(), threading.getprofile()
    return signals, hooks, signal.getitimer(signal.ITIMER_REAL), resource.getrlimit(resource.RLIMIT_DATA)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answer", [endless, catches_everything, makes_another_of_it, lambda n: 2 * n, lambda n: 1 / 0])
def test_everything_is_afterwards_as_it_was(answer):
    before = state()
    grade_patiently(DOUBLE, answer)
    assert state() == before


def interrupted(answer):
    """What comes out of a check that the reader interrupts."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        return grade_patiently(DOUBLE, answer)
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

    assert "imports(1) was ended" in grade_patiently(DOUBLE, imports).message
    assert sys.modules.pop("slowly").ready


@pytest.mark.usefixtures("impatient")
def test_waiting_is_no_computing():
    """Whoever stands at a breakpoint, or shares two cores with others, has the same time."""

    def waits(n):
        time.sleep(0.4)
        return 2 * n

    assert grade_patiently(DOUBLE, waits).status == "passed"


def sleeps(n):
    while True:
        time.sleep(0.01)


def joins_an_endless_thread(n):
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        thread.join()
    finally:
        over.set()


@pytest.mark.parametrize("answer", [sleeps, joins_an_endless_thread])
def test_waiting_has_an_end_too(answer, monkeypatch):
    monkeypatch.setattr(patience, "WAITING", 0.5)
    message = grade_patiently(DOUBLE, answer).message
    assert f"{answer.__name__}(1) was ended after 0.5 s (line " in message
    assert message.endswith("of your answer). Which loop there never ends, or what does it wait for?")


def test_but_not_at_a_breakpoint(monkeypatch):
    monkeypatch.setattr(patience, "WAITING", 0.1)

    def breaks(n):
        bdb.Bdb(skip=["*"]).runcall(time.sleep, 0.6)
        return 2 * n

    assert grade_patiently(DOUBLE, breaks).status == "passed"


def endless_generator():
    while True:
        yield from ()


def kernel_host(endless):
    @cute.jit
    def add(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
        endless()

    return add


def spins():
    while True:
        pass


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("id", "answer"),
    [
        ("00.1", lambda n, tile: list(endless_generator())),
        ("04.4", kernel_host(spins)),
        ("06.6", lambda *arguments: spins()),
        ("11.1", lambda *arguments: spins()),
        ("17.4", lambda *arguments: spins()),
        ("17.5", lambda *arguments: spins()),
    ],
)
def test_so_has_every_kind_of_answer(id, answer):
    outcome = grade_patiently(find(id), answer)
    assert outcome.status == "timeout"
    assert "was ended after 0.2 s of computing (line " in outcome.message


@cute.kernel
def spins_in_a_branch(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    for i in range(thread):
        if thread > 3:
            spins()
            x[i] = x[i] + 1


@cute.jit
def launches_what_spins(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    spins_in_a_branch(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def traces_without_end(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    for i in cutlass.range_constexpr(10**9):
        x[0] + y[0]
        cute.make_layout((4, i + 1))


@pytest.mark.parametrize("answer", [launches_what_spins, traces_without_end])
def test_cute_traces_as_before_when_a_trace_was_ended(answer, monkeypatch):
    right = load_answers("04_first_kernels")["04.4"]
    for _ in range(3):
        with monkeypatch.context() as impatient:
            impatient.setattr(patience, "SECONDS", 0.2)
            assert grade_patiently(find("04.4"), answer).status == "timeout"
        assert grade_patiently(find("04.4"), right).points == 3


@dataclass(frozen=True, kw_only=True)
class Laborious(Exercise):
    """Its judge computes for a while, and none of the answer's code runs."""

    def judge(self, answer):
        until = time.thread_time() + 0.8
        while time.thread_time() < until:
            pass
        return Verdict(self.points)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("needs", "status"), [(TMA, "passed"), (None, "timeout")])
def test_what_the_judge_of_a_kernel_computes_does_not_count(needs, status, monkeypatch):
    monkeypatch.setattr(patience, "INSTALLED", (*patience.INSTALLED, __file__))
    exercise = Laborious(id="99.2", title="kernel", points=2, needs=needs)
    assert grade_patiently(exercise, len).status == status


@pytest.mark.parametrize("size", [10**4, 10**12, 0])
def test_an_answer_that_takes_all_memory_runs_out_of_it(size, monkeypatch):
    monkeypatch.setattr(patience, "MEMORY", 2**27)

    def grows(n):
        kept = []
        while n:
            kept.append([0] * size if size else list(iter(int, 1)))
        return 0

    outcome = grade_patiently(DOUBLE, grows)
    assert (outcome.status, outcome.points) == ("partial", 1)
    assert "small: grows(1) ran out of memory (line " in outcome.message


def test_a_recursion_without_an_end_is_told_as_one():
    def double(n):
        return double(n)

    message = grade_patiently(DOUBLE, double).message
    assert "double(1) raised RecursionError: maximum recursion depth exceeded" in message
    assert "sys.setprofile" not in message  # Python takes the hook away that watches the answer


def test_on_another_thread_nothing_is_limited():
    before = state()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(grade_patiently, DOUBLE, lambda n: 2 * n).result().status == "passed"
    assert state() == before


CELLS = {
    "start": """
from tutorlib import check
from tutorlib.checking import patience
patience.SECONDS = 0.2

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
