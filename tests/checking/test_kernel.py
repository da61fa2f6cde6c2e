"""The verdict on a kernel: its sizes, its speed, what the simulator adds to a GPU, and what is said of the fault."""

import linecache
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from tests.gpu_kernels import COPY, GEMM
from tests.pages.answers import named
from tests.pages.change import swap
from tests.pages.table import solution
from tests.stand_ins import H200, OnTorch, copied
from tutorlib.checking import kernel as kernel_exercises
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import lean, stored_once
from tutorlib.checking.kernel import suspicion
from tutorlib.checking.running import find_fault
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.failure import Hazard
from tutorlib.machine import device
from tutorlib.measuring import results
from tutorlib.measuring.timing import WrongWhenTimed
from tutorlib.problems.differences import Wrong
from tutorlib.problems.fused import gelu_of, linear_gelu
from tutorlib.problems.work import RESTART, KernelFault
from tutorlib.simulate.ptx import Finding, MemoryAccess, Report

# Its sizes, its speed, its tiers, on made-up measurements ------------------------------------------------------------

SHAPE = (16384, 16384)
TIMED = replace(COPY, points=5, bench_shape=SHAPE, tiers=(0.7, 0.9))


@pytest.mark.parametrize(
    ("measured", "target", "status", "points", "says"),
    [
        (copied(0.95), 1.0, "passed", 5, "✓ 99.1 copy: 5 points"),
        (copied(0.80), 1.0, "partial", 4, "at 0.800 of torch copy_'s speed; the next point needs 0.900"),
        (copied(0.5), 0.9, "partial", 3, ""),
        (copied(0.8), 0.85, "passed", 5, ""),  # tiers are fractions of the target
        (copied(0.01), None, "passed", 5, ""),
        (copied(0.5, spread=0.06), 1.0, "partial", 3, "too noisy to grade its speed, run it again"),
        (copied(0.5, throttled=("heat",)), 1.0, "partial", 3, "too noisy to grade its speed, run it again"),
        (copied(2.0, median_us=100.0), 1.0, "failed", 0, "is impossible: by its datasheet this GPU needs 43"),
    ],
)
def test_the_verdict_on_a_speed(measured, target, status, points, says):
    outcome = TIMED.outcome_of(TIMED.verdict(measured, target, H200))
    assert (outcome.status, outcome.points) == (status, points)
    assert says in outcome.message
    assert not measured.noisy or "the next point" not in outcome.message


def test_an_unknown_gpu_refuses_no_time():
    verdict = TIMED.verdict(copied(2.0, median_us=1.0), 1.0, replace(H200, name="NVIDIA Z9000"))
    assert TIMED.outcome_of(verdict).status == "passed"


class TestTime:
    """The kernel was right at every size; what is said of its time."""

    @pytest.fixture
    def timed(self, monkeypatch):
        """The outcome where measuring gives this measurement, or raises this error."""

        def grade(measured, target=1.0):
            def measure(problem, launcher, shape):
                if isinstance(measured, Exception):
                    raise measured
                return measured

            monkeypatch.setattr(device, "gpu", lambda: H200)
            monkeypatch.setattr(results, "target_ratio", lambda arch, id: target)
            monkeypatch.setattr("tutorlib.checking.kernel.measure", measure)
            return TIMED.outcome_of(TIMED.time(None))

        return grade

    @pytest.mark.parametrize(
        ("target", "ends"),
        [(1.0, "0.950 of torch copy_'s speed"), (None, "speed. Not graded: there is no target for sm_90")],
    )
    def test_the_speed_is_shown_below_the_line(self, timed, target, ends):
        outcome = timed(copied(0.95), target)
        line, speed = outcome.message.splitlines()
        assert line == TIMED.passed_line
        assert speed.startswith("  16384×16384 fp32, cool: 500.0 µs")
        assert speed.endswith(ends)
        assert outcome.measurement["ratio"] == 0.95

    def test_a_slow_kernel_keeps_its_measurement(self, timed):
        outcome = timed(copied(0.5))
        assert (outcome.status, outcome.points) == ("partial", 3)
        assert outcome.measurement["ratio"] == 0.5

    def test_a_result_that_is_wrong_while_it_is_timed_gets_no_points(self, timed):
        outcome = timed(WrongWhenTimed("dst[0, 0] is still NaN"))
        assert (outcome.status, outcome.points) == ("failed", 0)
        assert "right when checked, wrong while it was timed: dst[0, 0] is still NaN" in outcome.message


def test_wrong_sizes_share_the_points_of_correctness():
    outcome = TIMED.outcome_of(TIMED.wrong_at({(192, 320): Wrong("off.")}, TIMED.shapes))
    assert (outcome.status, outcome.points) == ("partial", 2)
    assert outcome.message.splitlines() == ["✗ 99.1 copy: 2 of 3 sizes right", "  192×320: off."]


@pytest.mark.parametrize(
    ("right", "says"), [([(64, 64)], "right at 64×64, where all sizes agree: is"), ([(64, 32)], ""), ([], "")]
)
def test_the_sizes_that_are_right_tell_something(right, says):
    assert (says in suspicion(right)) if says else not suspicion(right)


# What is looked at, in the order of the GPU, with calls that are torch's ---------------------------------------------


def said(kernel, shape=(64, 96), exercise=COPY):
    """The fault in a kernel that is torch's, in one line."""
    wrong = find_fault(exercise.problem, OnTorch(kernel), shape)
    return wrong and f"{wrong.what} {wrong.mistake}"


@pytest.mark.usefixtures("on_cpu")
def test_right():
    assert said(lambda src, dst: dst.copy_(src)) is None
    assert said(lambda a, b, c: torch.mm(a, b.mT, out=c), (64, 96, 160), GEMM) is None


@pytest.mark.usefixtures("on_cpu")
def test_writes_nothing():
    assert "Unwritten: all 6,144 elements" in said(lambda src, dst: None)


@pytest.mark.usefixtures("on_cpu")
def test_writes_past_the_end_and_before_the_start():
    def beyond(src, dst, offset):
        dst.copy_(src)
        dst.as_strided((3,), (1,), dst.storage_offset() + offset).fill_(1)

    assert "3 elements after its end, the first 1 past" in said(lambda s, d: beyond(s, d, d.numel()))
    assert "3 elements before its start, the nearest 5 before" in said(lambda s, d: beyond(s, d, -7))


@pytest.mark.usefixtures("on_cpu")
def test_a_nan_of_its_own_in_a_guard_band_is_seen():
    def nan(src, dst):
        dst.copy_(src)
        dst.as_strided((1,), (1,), dst.storage_offset() + dst.numel()).fill_(float("nan"))

    assert "1 element after its end" in said(nan)


@pytest.mark.usefixtures("on_cpu")
def test_changes_its_input():
    def scribbles(src, dst):
        dst.copy_(src)
        src[3, 5] += 1

    assert "changed its input src" in said(scribbles)


@pytest.mark.usefixtures("on_cpu")
def test_what_a_ramp_makes_look_like_lost_digits_random_numbers_tell():
    """GELU of a large number is the number: there it hardly matters whether the bias comes before or after."""
    ramp = SimpleNamespace(problem=linear_gelu())

    def bias_afterwards(a, b, bias, c):
        c.copy_(gelu_of(a.float() @ b.float().mT) + bias)

    def rounds_the_sums(a, b, bias, c):
        c.copy_(gelu_of((a.float() @ b.float().mT).bfloat16().float() + bias))

    assert "Nearly right" not in said(bias_afterwards, (64, 128, 32), ramp)
    assert "Nearly right" in said(rounds_the_sums, (64, 128, 32), ramp)


@pytest.mark.usefixtures("on_cpu")
def test_remembers_an_earlier_output():
    outputs = []

    def remembers(src, dst):
        outputs.append(src.clone())
        dst.copy_(outputs[min(len(outputs), 2) - 1])

    assert "the right result for the inputs of the call before" in said(remembers)


@pytest.mark.usefixtures("on_cpu")
def test_keeps_its_sums_in_fp16():
    def half(a, b, c):
        total = torch.zeros(c.shape, dtype=torch.float16)
        for k in range(a.shape[1]):
            total += (a[:, k, None].float() * b[None, :, k].float()).half()
        c.copy_(total)

    assert "digits are lost" in said(half, (32, 48, 160), GEMM)


# What is said of a kernel that was simulated: the fault, its line and what mends it ----------------------------------

SAID = {  # exercise, the answer's row → the fault, its line, and what mends it
    ("02.1", "c[i] = → a[i] = c[i] ="): ("the kernel changed its input a",),
    ("05.1", "if row < rows and column < columns → if column < columns"): (
        *("loads src[270, 0]", "dst[row, column] = src[row, column]", "Compare each index"),
    ),
    ("05.3", "- commit_group()"): ("it is in no committed group", "cute.copy(store, stores.partition_S(turned)"),
    ("05.3", "- wait_group(0) ;; sync_threads() → sync_threads()⏎    cute.arch.cp_async_wait_group(0)"): (
        *("right by luck", "no barrier between", "need a barrier of the whole block"),
    ),
    ("05.3", "cute.arch.sync_threads() → if thread < 32:⏎        cute.arch.sync_threads()"): (
        *("would hang on a GPU", "a deadlock", "cute.arch.sync_threads()"),
    ),
    ("05.3", "make_swizzle(5, 0, 6) → make_swizzle(0, 0, 0)"): (
        *("takes 32 wavefronts where 1 would do: threads meet in a bank", "stores.partition_S(turned)"),
    ),
    ("07.3", "rows * columns, ct.num_blocks(0) → rows * columns"): ("more than it must", "has stored before"),
    ("09.1", "ct::extents{n, k} → ct::extents{m, k}"): (
        *("loads b[136, 0], which lies outside b of shape (136, 129)", "B.load_masked(j, step)"),
    ),
}


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("id", "row"), SAID)
def test_the_message_leads_to_the_mend(id, row):
    message = find(id).grade(named(id, row).function).message
    for part in SAID[id, row]:
        assert part in message


ACCESS = MemoryAccess(
    site=3, opcode="ld.shared.b32", space="shared", place=None, ptx_line=12, warps=4, taken=8, needed=4
)


def report(*accesses, repeats=()):
    return Report((), accesses, 1, 1, repeats=repeats)


def test_only_the_opcodes_that_are_asked_for_must_be_lean():
    assert lean("st.shared")([report(ACCESS)]) is None
    assert lean("ld.shared")([report(replace(ACCESS, taken=4))]) is None
    assert "line 12 of the PTX: a warp's ld.shared.b32 takes 2 wavefronts where 1 would do" in lean("ld.shared")(
        [report(), report(ACCESS)]
    )


def test_the_worst_access_is_named():
    worse = replace(ACCESS, ptx_line=20, taken=64)
    assert "line 20" in lean("ld.shared")([report(ACCESS, worse, ACCESS)])


def test_a_repetition_is_no_fault_unless_it_is_asked_for():
    again = Finding(Hazard.REPEAT, "block 0 stores c[0], which block 1 stores too", None, 7, 5)
    assert stored_once([report()]) is None
    assert "which block 1 stores too (line 7 of the PTX)" in stored_once([report(repeats=(again,))])


@pytest.mark.usefixtures("no_gpu")
def test_a_cutile_kernel_of_a_notebooks_cell():
    """Its module is __main__, which has no file."""
    cell, source = "/tmp/ipykernel_1/42.py", (
        "import cuda.tile as ct\n\n\n@ct.kernel\ndef transpose(x, y, tm: ct.Constant[int], tn: ct.Constant[int]):\n"
        "    i, j = ct.bid(0), ct.bid(1)\n    ct.store(y, (j, i), ct.transpose(ct.load(x, (i, j), (tm, tn))))\n"
    )  # fmt: skip
    linecache.cache[cell] = len(source), None, source.splitlines(keepends=True), cell
    namespace = {"__name__": "__main__"}
    exec(compile(source, cell, "exec"), namespace)
    assert find("06.1").grade(namespace["transpose"]).status == "passed"


@pytest.mark.usefixtures("no_gpu")
def test_what_a_gpu_would_refuse_to_launch():
    rounds_down = named("02.1", "cute.ceil_div(cute.size(c), THREADS) → cute.size(c) // THREADS")
    outcome = find("02.1").grade(rounds_down.function)
    assert "it could not be launched: a grid of (0, 1, 1) blocks" in outcome.message


@pytest.mark.usefixtures("no_gpu")
def test_points_are_for_the_sizes_that_are_right():
    assert COPY.points_anywhere == COPY.points
    assert replace(COPY, tiers=(0.9,), bench_shape=(64, 64)).points_anywhere == COPY.points - 1


# What the simulator adds to a GPU's verdict, with a stand-in for the GPU: why a kernel is wrong, and luck ------------

STAGED = replace(find("05.3"), bench_shape=None, tiers=(), points=2)
RIGHT = load_answers("05_copy_kernels")["05.3"]
BEFORE_THE_WAIT = "- wait_group(0) ;; sync_threads() → sync_threads()⏎    cute.arch.cp_async_wait_group(0)"
UNSAFE = named("05.3", BEFORE_THE_WAIT).function


def copies(src, dst):
    dst.copy_(src.T)


def copies_half(src, dst):
    dst.copy_(src.T)
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
    assert "the result is right by luck: " in outcome.message
    assert "no barrier between" in outcome.message
    assert "The two accesses need a barrier of the whole block between them." in outcome.message


def test_a_wrong_result_is_explained_at_its_line(on_gpu):
    outcome = on_gpu(STAGED, UNSAFE, copies_half)
    _, result, *rest = outcome.message.splitlines()
    assert "dst[0, 64] is 0" in result
    assert rest[-1].startswith("  Simulated: 128×128: ")
    assert "`cute.copy(store, stores.partition_S(turned), registers)`" in rest[-1]


def test_a_crash_is_explained_too(on_gpu):
    outcome = on_gpu(STAGED, UNSAFE, crashes)
    assert outcome.status == "error"
    first, second = outcome.message.splitlines()
    assert first.endswith(RESTART)
    assert second.startswith("  Simulated: 128×128: ")


def test_where_the_simulator_notices_nothing_the_gpus_word_stands_alone(on_gpu):
    outcome = on_gpu(STAGED, RIGHT, copies_half)
    assert "Simulated" not in outcome.message
    assert "\n" not in on_gpu(STAGED, RIGHT, crashes).message


def test_a_deadlock_that_this_gpu_gets_past_fails(on_gpu):
    meet = "    cute.arch.sync_threads()"
    alone = solution("05.3")([swap(meet, f"{meet}\n    if thread < 32:\n    {meet}")], "one_warp_waits_again")
    outcome = on_gpu(STAGED, alone, copies)
    assert outcome.status == "failed"
    assert "this GPU came to an end by luck" in outcome.message


def test_what_is_not_simulated_is_left_to_the_gpu(on_gpu):
    class Hopper(CuteExercise):
        simulated = False

    exercise = Hopper(**{**vars(STAGED)})
    assert on_gpu(exercise, UNSAFE, copies).status == "passed"
    assert "Simulated" not in on_gpu(exercise, UNSAFE, copies_half).message
