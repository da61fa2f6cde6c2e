"""A GPU's outputs, kept and restored; and how far one output is from another."""

from dataclasses import replace
from itertools import islice

import pytest
import torch

from tutorlib.checking.cute import CuteExercise
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.instruments import witness
from tutorlib.instruments.witness import (
    Changed,
    GpuRecord,
    Kept,
    compare,
    exact,
    from_ordinals,
    inputs_of,
    keep,
    ordinals,
    restore,
    run_simulated,
    sizes_kept,
)
from tutorlib.measuring.counters import NoCounters
from tutorlib.problems.catalogue import gemm

GEMM = find("09.5")
SHAPE = (48, 40, 72)


@pytest.fixture(scope="module")
def inputs():
    return inputs_of(GEMM.problem, SHAPE)


def test_float64_adds_up_these_inputs_without_rounding(inputs):
    """So that the exact result is the same on every machine: here it is with the terms the other way round."""
    a, b = (x.double() for x in inputs)
    assert torch.equal(a @ b.mT, a.flip(1) @ b.flip(1).mT)
    fractions = (a @ b.mT) * 2**34
    assert torch.equal(fractions, fractions.round())
    assert fractions.abs().max() < 2**53


def test_and_fp32_does_not(inputs):
    a, b = (x.float() for x in inputs)
    assert not torch.equal((a @ b.mT).double(), a.double() @ b.double().mT)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.01, 100.0, float("nan")])
def test_what_is_kept_comes_back(inputs, noise):
    output = exact(GEMM.problem, inputs, SHAPE)
    output[::7, ::3] += noise * torch.randn(output[::7, ::3].shape, generator=torch.Generator().manual_seed(0))
    kept = keep(GEMM, SHAPE, inputs, output)
    again, restored = restore(kept)
    assert all(map(torch.equal, again, inputs))
    assert torch.equal(restored.view(torch.int16), output.view(torch.int16))
    if not noise:
        assert len(kept.distance) < 40


def test_so_do_several_outputs_of_one_product():
    parts, shape = find("07.8"), (3, 40, 24, 72)
    inputs = inputs_of(parts.problem, shape)
    output = exact(parts.problem, inputs, shape)
    assert output.shape == (3, 40, 24)
    assert len(keep(parts, shape, inputs, output).distance) < 40
    output[2, 0, 0] += 1
    _, restored = restore(keep(parts, shape, inputs, output))
    assert torch.equal(restored, output)


def test_what_was_kept_of_other_inputs_is_not_compared(inputs):
    kept = keep(GEMM, SHAPE, inputs, exact(GEMM.problem, inputs, SHAPE))
    with pytest.raises(Changed, match="not the inputs that the GPU had"):
        restore(replace(kept, inputs="0"))
    with pytest.raises(Changed, match="the exact result differs here"):
        restore(replace(kept, output="0"))


def test_a_distance_is_counted_in_steps_of_the_dtype_and_in_parts_of_the_bound():
    problem, inputs = gemm("fp32"), inputs_of(gemm("fp32"), SHAPE)
    one = exact(problem, inputs, SHAPE)
    other = one.clone()
    other[3, 4] = torch.nextafter(torch.nextafter(one[3, 4], torch.tensor(99.0)), torch.tensor(99.0))
    found = compare(problem, inputs, SHAPE, one, other)
    assert (found.elements, found.differ, found.steps) == (48 * 40, 1, 2)
    assert 0 < found.of_bound < 0.1
    assert compare(problem, inputs, SHAPE, one, one).bit_for_bit
    other[0, 0] = -one[0, 0]
    assert compare(problem, inputs, SHAPE, one, other).of_bound > 1


def test_an_output_of_nan_agrees_with_nan_alone():
    problem, inputs = gemm("fp32"), inputs_of(gemm("fp32"), SHAPE)
    nothing = torch.full((48, 40), torch.nan)
    assert compare(problem, inputs, SHAPE, exact(problem, inputs, SHAPE), nothing).of_bound == float("inf")
    assert compare(problem, inputs, SHAPE, nothing, nothing).of_bound == 0


def test_zeros_of_either_sign_are_one_number():
    problem, inputs = gemm("fp32"), inputs_of(gemm("fp32"), SHAPE)
    zero = torch.zeros(48, 40)
    assert compare(problem, inputs, SHAPE, zero, -zero).bit_for_bit


@pytest.mark.parametrize("id", ["16.5", "16.7", "17.8", "18.6"])
def test_a_problem_of_integers_or_with_blocks_of_its_own_is_kept_and_comes_back(id):
    exercise = find(id)
    for shape in sizes_kept(exercise):
        inputs = inputs_of(exercise.problem, shape)
        output = exact(exercise.problem, inputs, shape)
        output.flatten()[0] += 3
        again, restored = restore(keep(exercise, shape, inputs, output))
        assert all(map(torch.equal, again, inputs))
        assert torch.equal(restored, output)


def test_a_kernel_of_integers_is_simulated_without_a_difference():
    exercise = find("17.8")
    shape = sizes_kept(exercise)[1]
    inputs = inputs_of(exercise.problem, shape)
    simulated = run_simulated(exercise, load_answers("17_compile_once")["17.8"], shape, inputs)
    assert compare(exercise.problem, inputs, shape, exact(exercise.problem, inputs, shape), simulated).bit_for_bit


def test_the_smallest_integer_is_no_zero():
    ends = torch.tensor([-(2**31), -1, 0, 2**31 - 1], dtype=torch.int32)
    assert from_ordinals(ordinals(ends), ends).equal(ends)
    assert len(set(ordinals(ends).tolist())) == 4


@pytest.mark.usefixtures("on_cpu")
def test_each_kernel_is_run_and_kept_once(monkeypatch):
    monkeypatch.setattr(CuteExercise, "launcher", CuteExercise.simulator)
    taken = list(islice(witness.take(), 3))
    assert [(kept.exercise, kept.shape) for kept in taken] == [("04.4", (128,)), ("04.4", (4096,)), ("04.4", (128128,))]
    assert all(isinstance(kept, Kept) for kept in taken)


@pytest.mark.usefixtures("on_cpu")
def test_a_kernel_that_fails_leaves_the_others_their_turn(monkeypatch):
    def launcher(exercise, kernel):
        raise RuntimeError("no such GPU\nat all")

    monkeypatch.setattr(CuteExercise, "launcher", launcher)
    assert next(iter(witness.take())) == "04.4 at (128,): RuntimeError: no such GPU"


def test_a_record_is_written_and_read_again(tmp_path, monkeypatch, inputs):
    """Without ncu it keeps the counters that were there before."""
    file = tmp_path / "z9000_simulated.json"
    monkeypatch.setattr(witness, "sweep_file", lambda gpu, name: file)
    monkeypatch.setattr(witness, "this_machine", lambda: {"gpu": "Z9000"})
    kept = keep(GEMM, SHAPE, inputs, exact(GEMM.problem, inputs, SHAPE))
    monkeypatch.setattr(witness, "take", lambda: iter([kept, "09.6 failed"]))
    monkeypatch.setattr(witness.accesses, "count_on_gpu", lambda metrics: {"k": dict.fromkeys(metrics, 3.0)})
    assert list(witness.record())[1:] == ["09.6 failed", f"wrote {file}"]
    found = GpuRecord.read(file)
    assert found.outputs == (kept,)
    assert found.accesses == {"k": dict.fromkeys((*witness.accesses.HARDWARE, *witness.accesses.BY_ADDRESS), 3.0)}

    def no_ncu(metrics):
        raise NoCounters("ncu is not on the path")

    monkeypatch.setattr(witness.accesses, "count_on_gpu", no_ncu)
    assert "no accesses are counted" in list(witness.record())[2]
    assert GpuRecord.read(file) == found
