"""Kernel exercises without a GPU: what compiles, what is said, and the verdict on made-up measurements."""

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from tests.gpu.right_kernels import RIGHT, grid_stride_loop, one_thread_per_element
from tests.wrong.gpu_kernels import (
    COPY,
    FATAL,
    GEMM,
    WRONG,
    accumulates_in_fp16,
    launches_nothing,
    returns_the_reference,
)
from tutorlib import device, launch, targets
from tutorlib.bench import Measurement, Times
from tutorlib.check import CheckFailed, check
from tutorlib.device import GPU
from tutorlib.kernel import KernelExercise, WrongWhenTimed

H200 = GPU("NVIDIA H200", "90", 132, 60 * 2**20, 140 * 2**30, "580.0")
TIMED = replace(COPY, points=5, bench_shape=(16384, 16384), tiers=(0.7, 0.9))


def measurement(ratio, spread=0.01, median_us=500.0, throttled=()):
    return Measurement(
        shape=(16384, 16384),
        dtype="fp32",
        median_us=median_us,
        lower_us=median_us * 0.99,
        upper_us=median_us * 1.01,
        baseline="torch copy_",
        baseline_us=median_us * ratio,
        ratio=ratio,
        spread=spread,
        n=40,
        clock_mhz=1980,
        throttled=throttled,
        tflops=None,
        gbps=2**31 / median_us / 1e3,
        gpu="NVIDIA H200",
        versions={},
    )


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: None)


@pytest.mark.usefixtures("no_gpu")
class TestWithoutAGpu:
    @pytest.mark.parametrize("kernel", [case[1] for case in (*RIGHT, *WRONG, *FATAL)], ids=lambda k: k.__name__)
    def test_every_kernel_of_the_gpu_tests_compiles(self, kernel):
        exercise = next(case[0] for case in (*RIGHT, *WRONG, *FATAL) if case[1] is kernel)
        outcome = exercise.grade(kernel)
        wanted = "failed" if kernel in (returns_the_reference, launches_nothing) else "not_run"
        assert outcome.status == wanted, outcome.message
        assert outcome.points == 0

    def test_not_run_is_printed_and_not_raised(self, capsys, monkeypatch):
        monkeypatch.setattr("tutorlib.exercises.find", lambda id: COPY)
        check("99.1", one_thread_per_element)
        assert capsys.readouterr().out == "– 99.1 copy: compiled for sm_80; not run: no GPU here\n"

    def test_it_is_compiled_for_each_architecture(self, monkeypatch):
        compiled = []

        def lacks_it_later(answer, specs, arch):
            compiled.append(arch)
            return SimpleNamespace(instructions=frozenset({"cp.async"} if len(compiled) == 1 else ()))

        monkeypatch.setattr("tutorlib.compile.compile_cute", lacks_it_later)
        exercise = replace(COPY, archs=("sm_80", "sm_90a"), requires=("cp.async",))
        assert exercise.grade(grid_stride_loop).status == "failed"
        assert compiled == ["sm_80", "sm_90a"]

    def test_a_missing_instruction_fails(self, monkeypatch):
        outcome = replace(COPY, requires=("cp.async", "ldmatrix")).grade(grid_stride_loop)
        assert outcome.status == "failed"
        assert "without cp.async and ldmatrix, which the exercise is about" in outcome.message

    def test_a_forbidden_instruction_fails(self):
        outcome = replace(COPY, forbids=("ld.global",)).grade(grid_stride_loop)
        assert "still uses ld.global" in outcome.message

    def test_an_unwritten_kernel(self, monkeypatch):
        from tests.unwritten import unwritten

        assert COPY.grade(unwritten).message == "✗ 99.1 copy: not written yet"

    def test_what_is_no_kernel(self):
        assert COPY.grade(3).message == "✗ 99.1 copy: 3 is not a @cute.jit function."

    def test_what_does_not_compile_names_the_line(self, monkeypatch):
        monkeypatch.setattr("tutorlib.exercises.find", lambda id: COPY)
        with pytest.raises(CheckFailed, match="does not compile"):
            check("99.1", accumulates_in_fp16)  # it takes three tensors


@pytest.mark.parametrize(
    ("needs", "arch", "why"),
    [
        ("80", "75", "this GPU is sm_75"),
        ("80", "80", None),
        ("80", "89", None),
        ("80", "120", None),
        ("90", "90", None),
        ("90", "80", "this GPU is sm_80"),
        ("90", "100", "this GPU is sm_100"),
        ("100", "103", None),
        ("100", "120", "this GPU is sm_120"),
    ],
)
def test_which_gpu_runs_what(needs, arch, why, monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: replace(H200, arch=arch))
    assert device.why_not(needs) == why


class TestVerdict:
    def test_every_tier(self):
        outcome = TIMED.verdict(measurement(0.95), 1.0, H200)
        assert (outcome.status, outcome.points, outcome.message) == ("passed", 5, "✓ 99.1 copy: 5 points")

    def test_some_tiers(self):
        outcome = TIMED.verdict(measurement(0.80), 1.0, H200)
        assert (outcome.status, outcome.points) == ("partial", 4)
        assert "4 of 5 points" in outcome.message
        assert "at 0.80 of torch copy_'s speed; the next point needs 0.90" in outcome.message

    def test_no_tier(self):
        assert TIMED.verdict(measurement(0.5), 0.9, H200).points == 3

    def test_tiers_are_fractions_of_the_target(self):
        assert TIMED.verdict(measurement(0.8), 0.85, H200).points == 5

    def test_no_target(self):
        assert TIMED.verdict(measurement(0.01), None, H200).points == 5

    @pytest.mark.parametrize("noise", [{"spread": 0.06}, {"throttled": ("heat",)}])
    def test_too_noisy_is_not_too_slow(self, noise):
        outcome = TIMED.verdict(measurement(0.5, **noise), 1.0, H200)
        assert (outcome.status, outcome.points) == ("partial", 3)
        assert "too noisy to grade its speed, run it again" in outcome.message
        assert "the next point" not in outcome.message

    def test_below_the_roofline(self):
        outcome = TIMED.verdict(measurement(2.0, median_us=100.0), 1.0, H200)
        assert (outcome.status, outcome.points) == ("failed", 0)
        assert "is impossible: by its datasheet this GPU needs 43" in outcome.message

    def test_an_unknown_gpu_refuses_no_time(self):
        unknown = replace(H200, name="NVIDIA Z9000")
        assert unknown.hardware is None
        assert TIMED.verdict(measurement(2.0, median_us=1.0), 1.0, unknown).status == "passed"


def led_in(kernels, baselines, refresh, spoil, verify):
    """Stands in for bench.paired: each round leads in, spoils, then times."""
    for _ in range(3):
        refresh()
        for call in (*kernels, *baselines):
            call()
        spoil()
        for call in (*kernels, *baselines):
            call()
        verify()
    return Times((1.0,) * 4, (1.0,) * 4)


class OnTorch:
    """Stands in for Launcher: the "kernel" is a function of torch tensors on the CPU."""

    def __init__(self, kernel):
        self.kernel = kernel

    def on(self, work):
        return lambda: self.kernel(*work.tensors)


@pytest.fixture
def on_cpu(monkeypatch):
    monkeypatch.setattr(launch, "DEVICE", "cpu")
    monkeypatch.setattr(launch, "guarded", lambda run, seconds: run())
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)


@pytest.mark.usefixtures("on_cpu")
class TestJudging:
    """What the checker looks at, in the order of the GPU, with calls that are torch's."""

    def judged(self, kernel, shape=(64, 96), exercise=COPY):
        wrong = exercise.judge(OnTorch(kernel), shape)
        return wrong and f"{wrong.what} {wrong.mistake}"

    def test_right(self):
        assert self.judged(lambda src, dst: dst.copy_(src)) is None
        assert self.judged(lambda a, b, c: torch.mm(a, b.mT, out=c), (64, 96, 160), GEMM) is None

    def test_writes_nothing(self):
        assert "Unwritten: all 6,144 elements" in self.judged(lambda src, dst: None)

    def test_writes_past_the_end_and_before_the_start(self):
        def beyond(src, dst, offset):
            dst.copy_(src)
            dst.as_strided((3,), (1,), dst.storage_offset() + offset).fill_(1)

        assert "3 elements after its end, the first 1 past" in self.judged(lambda s, d: beyond(s, d, d.numel()))
        assert "3 elements before its start, the nearest 5 before" in self.judged(lambda s, d: beyond(s, d, -7))

    def test_a_nan_of_its_own_in_a_guard_band_is_seen(self):
        def nan(src, dst):
            dst.copy_(src)
            dst.as_strided((1,), (1,), dst.storage_offset() + dst.numel()).fill_(float("nan"))

        assert "1 element after its end" in self.judged(nan)

    def test_changes_its_input(self):
        def scribbles(src, dst):
            dst.copy_(src)
            src[3, 5] += 1

        assert "changed its input src" in self.judged(scribbles)

    def test_remembers_an_earlier_output(self):
        outputs = []

        def remembers(src, dst):
            outputs.append(src.clone())
            dst.copy_(outputs[min(len(outputs), 2) - 1])

        assert "the right result for the inputs of the call before" in self.judged(remembers)

    def test_works_on_its_own_stream(self, monkeypatch):
        aside = []  # what a kernel on another stream still has to do when the checker copies the output

        def finish(run, seconds):
            run()
            while aside:
                aside.pop()()

        monkeypatch.setattr(launch, "guarded", finish)
        wrong = self.judged(lambda src, dst: aside.append(lambda: dst.copy_(src)))
        assert "dst is written, but not on the current stream" in wrong

    @pytest.mark.parametrize(
        ("kernel", "says"),
        [
            (lambda src, dst: dst.copy_(src), None),
            (lambda src, dst: dst[:-1].copy_(src[:-1]), "dst[63, 0] is still NaN"),
            (lambda src, dst: (src.zero_(), dst.zero_()), "the kernel changed an input"),
        ],
    )
    def test_every_timed_call_is_looked_at(self, kernel, says, monkeypatch):
        monkeypatch.setattr("tutorlib.bench.paired", led_in)
        measure = partial(TIMED.measure, OnTorch(kernel), (64, 96), replace(H200, l2=2**15))
        if says is None:
            assert measure().ratio == 1
        else:
            with pytest.raises(WrongWhenTimed, match=re.escape(says)):
                measure()

    def test_what_the_lead_in_wrote_is_no_result_of_a_timed_call(self, monkeypatch):
        calls = Counter()

        def every_other_time(src, dst):
            calls[dst.data_ptr()] += 1
            if calls[dst.data_ptr()] % 2:
                dst.copy_(src)

        monkeypatch.setattr("tutorlib.bench.paired", led_in)
        with pytest.raises(WrongWhenTimed, match="still NaN"):
            TIMED.measure(OnTorch(every_other_time), (64, 96), replace(H200, l2=2**15))

    def test_keeps_its_sums_in_fp16(self):
        def half(a, b, c):
            total = torch.zeros(c.shape, dtype=torch.float16)
            for k in range(a.shape[1]):
                total += (a[:, k, None].float() * b[None, :, k].float()).half()
            c.copy_(total)

        assert "kept in fp32" in self.judged(half, (32, 48, 160), GEMM)


@pytest.mark.parametrize(
    ("target", "ends"),
    [(1.0, "0.950 of torch copy_'s speed"), (None, "speed. Not graded: there is no target for sm_90")],
)
def test_the_speed_is_shown_below_the_line(target, ends, monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)
    monkeypatch.setattr(targets, "target", lambda arch, id: target)
    monkeypatch.setattr(KernelExercise, "measure", lambda *args: measurement(0.95))
    outcome = TIMED.timed(None, (16384, 16384))
    line, speed = outcome.message.splitlines()
    assert line == TIMED.passed_line
    assert speed.startswith("  16384×16384 fp32: 500.0 µs")
    assert speed.endswith(ends)
    assert outcome.measurement["ratio"] == 0.95


def test_a_noisy_measurement_is_taken_again(monkeypatch):
    taken = iter([measurement(0.5, spread=0.3), measurement(0.95)])
    monkeypatch.setattr(device, "gpu", lambda: H200)
    monkeypatch.setattr(targets, "target", lambda arch, id: 1.0)
    monkeypatch.setattr(KernelExercise, "measure", lambda *args: next(taken))
    assert TIMED.timed(None, (16384, 16384)).status == "passed"


def test_wrong_sizes_share_the_points_of_correctness():
    from tutorlib.exercise import Wrong

    outcome = TIMED.wrong({(192, 320): Wrong("off.")}, TIMED.shapes)
    assert (outcome.status, outcome.points) == ("partial", 2)
    assert outcome.message.splitlines() == [
        "✗ 99.1 copy: 2 of 3 sizes right",
        "  192×320: off.",
        "  It is right at 256×256, where all sizes agree: is one size used in another's place?",
    ]


def test_targets_are_kept_by_architecture(tmp_path, monkeypatch):
    monkeypatch.setattr(targets, "FILE", tmp_path / "targets.json")
    targets.load.cache_clear()
    assert targets.target("sm_90", "05.3") is None
    machine = {"gpu": "NVIDIA H200", "driver": "580"}
    targets.save("sm_90", machine, "2026-11-20", {"05.3": 0.99, "05.4": 0.5})
    targets.save("sm_80", machine, "2026-11-20", {"05.3": 0.9})
    targets.save("sm_90", machine, "2026-11-21", {"05.4": 0.6})
    assert [targets.target("sm_90", "05.3"), targets.target("sm_90", "05.4")] == [0.99, 0.6]
    assert targets.target("sm_80", "05.3") == 0.9
    targets.load.cache_clear()


def test_nbval_compares_the_lines_of_cpu_exercises_alone():
    from tutorlib import build
    from tutorlib.course import SOLUTIONS
    from tutorlib.exercises import find

    notebook = build.student_notebook(build.parse(SOLUTIONS / "04_first_kernels.py"))
    compared = {
        cell.metadata["tutorlib"]["exercise"]: "nbval-check-output" in cell.metadata.get("tags", [])
        for cell in notebook.cells
        if cell.metadata.get("tutorlib", {}).get("role") == "check"
    }
    assert set(compared.values()) == {True, False}
    assert all(tagged == (find(id).needs == "cpu") for id, tagged in compared.items())
