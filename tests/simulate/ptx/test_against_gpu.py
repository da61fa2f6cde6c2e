"""The simulator beside what GPUs gave for the same kernels and inputs, as tests.simulate.witness recorded it."""

import json
from dataclasses import dataclass, replace
from functools import cache

import pytest
import torch

from tests.simulate.witness import NAME, Changed, Kept, exact, inputs_of, keep, restore, run_simulated, witnessed
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.kernels.ladder import AMPERE_RUNGS
from tutorlib.measuring.simulated_launchers import simulated_cute
from tutorlib.paths import SWEEPS, notebook_names
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.work import Work


@dataclass(frozen=True)
class GpuRecord:
    """accesses: what ncu counted of the ladder's first kernel at COUNTED, by metric; {} where nothing was counted."""

    gpu: str
    outputs: tuple[Kept, ...]
    accesses: dict[str, float]


def read(file):
    data = json.loads(file.read_text(encoding="utf-8"))
    outputs = tuple(Kept(**{**one, "shape": tuple(one["shape"])}) for one in data["outputs"])
    return GpuRecord(data["machine"]["gpu"], outputs, data.get("accesses", {}))


RECORDS = [read(file) for file in sorted(SWEEPS.glob(f"*_{NAME}.json"))]
KEPT = [
    pytest.param(
        kept,
        id=f"{record.gpu}-{kept.exercise}-{'x'.join(map(str, kept.shape))}",
        marks=pytest.mark.long if kept.exercise == "08.1" else (),  # 20 s
    )
    for record in RECORDS
    for kept in record.outputs
]
APPROXIMATE = {"06.2", "06.3", "18.4", "22.4"}  # ex2.approx, tanh.approx: last bits are not documented
NEAR = 0.1  # of the problem's bound: the GPU's tensor cores add up products in another way than the simulator
ROUNDED_APART = 0.001  # of the elements: sums near the middle of two bf16, which fall on either side of it
COUNTED = (256, 384, 256)
SASS, PIPE = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op", "l1tex__t_sectors_pipe_lsu_mem_global_op"
COUNTERS = {  # memory and the beginning of an opcode → ncu's counter of its wavefronts or sectors
    ("shared", "ld."): f"{SASS}_ld.sum",
    ("shared", "st."): f"{SASS}_st.sum",
    ("shared", "ldmatrix"): f"{SASS}_ldsm.sum",
    ("shared", "cp.async"): f"{SASS}_ldgsts.sum",
    ("global", "st."): f"{PIPE}_st.sum",
    ("global", "cp.async"): f"{PIPE}_ld.sum",
}


@cache
def answers(notebook):
    return load_answers(next(name for name in notebook_names() if name[:2] == notebook))


@pytest.mark.parametrize("kept", KEPT)
def test_the_output_is_the_gpus(kept):
    exercise = find(kept.exercise)
    inputs, output = restore(kept, exercise.problem)
    simulated = run_simulated(exercise, answers(kept.exercise[:2])[kept.exercise], kept.shape, inputs)
    _, allowed = exercise.problem.expected(inputs, kept.shape)
    assert output.isnan().equal(simulated.isnan())
    apart = (output.double() - simulated.double()).abs().nan_to_num()
    assert (apart <= 2 * allowed.double()).all()
    if kept.exercise not in APPROXIMATE:
        assert (apart > NEAR * allowed.double()).float().mean() < ROUNDED_APART
        assert "K" in exercise.problem.dims or not apart.any()


def test_every_gemm_of_the_ladder_is_among_them():
    for record in RECORDS:
        kept = {one.exercise for one in record.outputs}
        assert kept >= {"02.1", "05.1", "05.3", "07.1", "08.1", "09.1", "10.4", "12.1", "13.3", "14.4", "16.2"}


@pytest.mark.parametrize("record", [record for record in RECORDS if record.accesses], ids=lambda record: record.gpu)
def test_wavefronts_and_sectors_are_ncus(record):
    launcher = simulated_cute(AMPERE_RUNGS[0].host, gemm("bf16"))
    launcher.on(Work(gemm("bf16"), COUNTED, "cpu"))()
    (report,) = launcher.reports
    found = {opcode: report.total(*opcode) for opcode in COUNTERS}
    assert {opcode: taken for opcode, (taken, _) in found.items()} == {
        opcode: record.accesses[counter] for opcode, counter in COUNTERS.items()
    }
    for space, name in (("shared", "memory_l1_wavefronts_shared"), ("global", "memory_l2_theoretical_sectors_global")):
        both = [costs for (memory, _), costs in found.items() if memory == space]
        assert [sum(one) for one in zip(*both, strict=True)] == [
            record.accesses[name],
            record.accesses[f"{name}_ideal"],
        ]


def test_the_sizes_that_are_compared_have_blocks_and_k_tiles_enough():
    """A tile of C is 128×128 at most, a K tile 64 deep at most."""
    for exercise, _, shape in witnessed():
        if exercise.problem.dims == "MNK":
            m, n, k = shape
            assert -(-m // 128) * -(-n // 128) >= 4
            assert k > 3 * 32
            assert (m % 128, n % 128) != (0, 0)


def test_float64_adds_up_the_inputs_without_rounding_and_fp32_does_not():
    """So that the exact result is the same on every machine: here it is with the terms the other way round."""
    a, b = inputs_of(find("10.4").problem, (48, 40, 72))
    wide_a, wide_b = a.double(), b.double()
    assert torch.equal(wide_a @ wide_b.mT, wide_a.flip(1) @ wide_b.flip(1).mT)
    assert not torch.equal((a.float() @ b.float().mT).double(), wide_a @ wide_b.mT)


@pytest.mark.parametrize("noise", [0.0, 0.01, 100.0, float("nan")])
def test_what_is_kept_comes_back(noise):
    problem, shape = find("10.4").problem, (48, 40, 72)
    inputs = inputs_of(problem, shape)
    output = exact(problem, inputs, shape)
    output[::7, ::3] += noise
    kept = keep("10.4", problem, shape, inputs, output)
    again, restored = restore(kept, problem)
    assert all(map(torch.equal, again, inputs))
    assert torch.equal(restored.view(torch.int16), output.view(torch.int16))
    for changed in (replace(kept, inputs="0"), replace(kept, output="0")):
        with pytest.raises(Changed):
            restore(changed, problem)
