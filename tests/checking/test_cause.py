"""What the simulator adds to a GPU's verdict, with a stand-in for the GPU: why a kernel is wrong, and luck."""

from dataclasses import replace

import pytest

from tests.pages.answers import named
from tests.pages.change import swap
from tests.pages.table import solution
from tests.stand_ins import H200, OnTorch
from tutorlib.checking import kernel as kernel_exercises
from tutorlib.checking.cute import CuteExercise
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.machine import device
from tutorlib.problems.work import RESTART, KernelFault

STAGED = replace(find("05.5"), bench_shape=None, tiers=(), points=2)
RIGHT = load_answers("05_copy_kernels")["05.5"]
BEFORE_THE_WAIT = "- wait_group(0) ;; sync_threads() → sync_threads()⏎    cute.arch.cp_async_wait_group(0)"
UNSAFE = named("05.5", BEFORE_THE_WAIT).function


def copies(src, dst):
    dst.copy_(src)


def copies_half(src, dst):
    dst.copy_(src)
    dst[:, 64:] = 0


def crashes(src, dst):
    raise KernelFault(f"it read or wrote outside its tensors. {RESTART}")


@pytest.fixture
def on_gpu(on_cpu, monkeypatch):
    """Grades an answer on a GPU that does what a function of torch tensors does."""

    def grade(exercise, answer, does):
        monkeypatch.setattr(device, "gpu", lambda: H200)
        monkeypatch.setattr(kernel_exercises, "context_broken", lambda: False)
        monkeypatch.setattr(CuteExercise, "launcher", lambda exercise, kernel: OnTorch(does))
        return exercise.grade(answer)

    return grade


def test_a_right_kernel_passes(on_gpu):
    assert on_gpu(STAGED, RIGHT, copies).status == "passed"


def test_a_race_that_the_gpu_does_not_show_fails(on_gpu):
    outcome = on_gpu(STAGED, UNSAFE, copies)
    assert outcome.status == "failed"
    assert "this GPU's result is right by luck: " in outcome.message
    assert "no barrier between" in outcome.message
    assert "The two accesses need a barrier of the whole block between them." in outcome.message


def test_a_wrong_result_is_explained_at_its_line(on_gpu):
    outcome = on_gpu(STAGED, UNSAFE, copies_half)
    _, result, *rest = outcome.message.splitlines()
    assert "dst[0, 64] is 0" in result
    assert rest[-1].startswith("  Simulated at 256×256: ")
    assert "`cute.copy(store, from_tile, registers)`" in rest[-1]


def test_a_crash_is_explained_too(on_gpu):
    outcome = on_gpu(STAGED, UNSAFE, crashes)
    assert outcome.status == "error"
    first, second = outcome.message.splitlines()
    assert first.endswith(RESTART)
    assert second.startswith("  Simulated at 256×256: ")


def test_where_the_simulator_notices_nothing_the_gpus_word_stands_alone(on_gpu):
    outcome = on_gpu(STAGED, RIGHT, copies_half)
    assert "Simulated" not in outcome.message
    assert "\n" not in on_gpu(STAGED, RIGHT, crashes).message


def test_an_explanation_that_fails_hides_nothing(on_gpu, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(kernel_exercises, "cause", broken)
    assert "dst[0, 64] is 0" in on_gpu(STAGED, UNSAFE, copies_half).message


def test_a_deadlock_that_this_gpu_gets_past_fails(on_gpu):
    meet = "    cute.arch.sync_threads()"
    alone = solution("05.5")([swap(meet, f"{meet}\n    if thread < 32:\n    {meet}")], "one_warp_waits_again")
    outcome = on_gpu(STAGED, alone, copies)
    assert outcome.status == "failed"
    assert "it came to an end on this GPU, by luck: " in outcome.message


def test_what_is_not_simulated_is_left_to_the_gpu(on_gpu):
    class Hopper(CuteExercise):
        simulated = False

    exercise = Hopper(**{**vars(STAGED)})
    assert on_gpu(exercise, UNSAFE, copies).status == "passed"
    assert "Simulated" not in on_gpu(exercise, UNSAFE, copies_half).message
