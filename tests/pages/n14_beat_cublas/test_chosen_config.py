"""Exercises that choose a configuration: who counts, what is refused, what is compiled."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.stand_ins import H200, copied
from tutorlib.checking import kernel
from tutorlib.compiling.errors import CompileFailed
from tutorlib.exercises.judges import p14 as judge
from tutorlib.exercises.judges.p14 import ChosenExercise, compile_chosen, shown
from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine import device
from tutorlib.measuring import results
from tutorlib.problems.catalogue import gemm

TIMED = ((256, 512, 1024), (512, 768, 8192))
EXERCISE = ChosenExercise(
    id="99.1",
    title="choose",
    points=3,
    problem=gemm("bf16"),
    by_shape=True,
    shapes=((256, 256, 256),),
    timed=TIMED,
    tiers=(0.9,),
    hints=("none",),
)
RATIOS = dict(zip(TIMED, (1.1, 0.8), strict=True))


@pytest.fixture
def timed(monkeypatch):
    """A GPU on which everything is right, and the second shape slower."""
    monkeypatch.setattr(device, "need_gpu", lambda: H200)
    monkeypatch.setattr(kernel, "recorded", lambda id, shape: None)
    monkeypatch.setattr(
        kernel,
        "measure",
        lambda problem, launcher, shape: replace(copied(RATIOS[shape]), shape=shape, baseline="cuBLAS", gbps=None),
    )


@pytest.mark.usefixtures("timed")
@pytest.mark.parametrize(("target", "points"), [(None, 3), (0.8, 3), (0.9, 2)])
def test_the_shape_at_which_it_does_worst_counts(monkeypatch, target, points):
    monkeypatch.setattr(results, "target_ratio", lambda arch, id: target)
    verdict = EXERCISE.time(None)
    assert verdict.points == points
    assert verdict.measurement.shape == TIMED[1]


@pytest.mark.usefixtures("timed")
def test_a_recorded_measurement_stands_for_all(monkeypatch):
    monkeypatch.setattr(results, "target_ratio", lambda arch, id: 1.0)
    before = replace(copied(0.95), shape=TIMED[0], baseline="cuBLAS")
    monkeypatch.setattr(kernel, "recorded", lambda id, shape: before if shape == TIMED[0] else None)
    assert EXERCISE.time(None).measurement == before


@pytest.mark.usefixtures("no_gpu")
class TestWithoutGpu:
    def test_what_the_model_finds_far_off_is_wrong(self):
        message = EXERCISE.grade(lambda m, n, k: HopperConfig()).message
        assert "for 256×512×1024 the course's model expects" in message

    @pytest.mark.parametrize(
        ("config", "says"),
        [
            (HopperConfig(dtype="fp16"), "A and B are bf16, not fp16"),
            (HopperConfig(scaled=True), "scaled is not for this exercise"),
            ((128, 256, 64), "not a HopperConfig"),
        ],
    )
    def test_what_is_no_configuration_of_the_exercise(self, config, says):
        assert says in EXERCISE.grade(lambda m, n, k: config).message

    def test_a_rule_that_is_broken_is_the_message(self):
        message = EXERCISE.grade(lambda m, n, k: HopperConfig(tile=(100, 256, 64))).message
        assert "tile M = 100: a wgmma computes 64 rows" in message

    def test_of_those_that_are_timed_the_one_with_the_fewest_registers_to_spare_is_compiled(self, monkeypatch):
        compiled = []

        def spilling(config):
            compiled.append(config)
            return SimpleNamespace(spill_bytes=8)

        monkeypatch.setattr(judge, "compile_chosen", spilling)
        message = EXERCISE.grade(lambda m, n, k: choose(m, n, k)).message
        roomy, tight = (choose(*shape) for shape in TIMED)
        assert tight.spare_registers < roomy.spare_registers
        assert compiled == [tight]
        assert message.endswith(f"for 512×768×8192: {shown(tight)} spills 8 bytes in each thread.")

    def test_not_a_function(self):
        assert "is not a function" in EXERCISE.grade(HopperConfig()).message


def test_a_configuration_shows_what_differs():
    assert shown(HopperConfig()) == "HopperConfig()"
    assert shown(HopperConfig(cluster=(2, 1), polls=True)) == "cluster=(2, 1), polls=True"


def test_what_the_compiler_makes_of_one():
    compiled = compile_chosen(HopperConfig(tile=(64, 64, 64)))
    assert compiled.spill_bytes == 0
    assert {"wgmma", "cp.async.bulk.tensor", "mbarrier"} <= compiled.instructions
    assert compiled.threads == 256


def test_a_compilers_refusal_becomes_a_line(monkeypatch):
    from tutorlib.kernels.hopper import launch

    def refuse(config, options=""):
        raise RuntimeError("C7602")

    monkeypatch.setattr(launch, "compile_gemm", refuse)
    with pytest.raises(CompileFailed, match="stages=3: RuntimeError: C7602"):
        compile_chosen(HopperConfig(stages=3))


def test_a_choice_is_asked_for_once():
    """One that passes when it is looked at, and would launch something else afterwards."""
    asked = []

    def fickle(m, n, k):
        asked.append((m, n, k))
        return choose(m, n, k) if len(asked) <= 3 else "another"

    kernel = EXERCISE.accept(fickle)
    assert EXERCISE.examine(kernel) is None
    assert [kernel.chosen(*shape) for shape in EXERCISE.sizes] == [choose(*shape) for shape in EXERCISE.sizes]
    assert asked == list(EXERCISE.sizes)
