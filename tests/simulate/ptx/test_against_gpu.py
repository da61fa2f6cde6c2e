"""The simulator beside what GPUs gave for the same kernels and inputs: `tutor witness` kept it in figures/data."""

from functools import cache

import pytest

from tutorlib.course.answers import load_answers
from tutorlib.exercises import find, rooms
from tutorlib.instruments.accesses import KERNELS, count_simulated
from tutorlib.instruments.witness import compare, gpu_records, inputs_of, restore, run_simulated, sizes_kept, witnessed

RECORDS = gpu_records()
KEPT = [
    pytest.param(
        kept,
        id=f"{record.machine['gpu']}-{kept.exercise}-{'x'.join(map(str, kept.shape))}",
        marks=pytest.mark.long if kept.exercise == "07.6" else (),  # 20 s
    )
    for record in RECORDS
    for kept in record.outputs
]
APPROXIMATE = {"06.5", "16.1", "16.2", "16.3", "16.7"}  # ex2.approx, tanh.approx: last bits are not documented
ZIGZAG = {"14.11"}  # a block takes K backwards in every other of its tiles, and which are its depends on the SMs
COUNTED = [
    pytest.param(record, kernel, id=f"{record.machine['gpu']}-{kernel}") for record in RECORDS for kernel in KERNELS
]
SASS, PIPE = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op", "l1tex__t_sectors_pipe_lsu_mem_global_op"
COUNTERS = {  # the simulator's count → ncu's
    "shared ld": f"{SASS}_ld.sum",
    "shared st": f"{SASS}_st.sum",
    "shared ldmatrix": f"{SASS}_ldsm.sum",
    "shared cp.async": f"{SASS}_ldgsts.sum",
    "global st": f"{PIPE}_st.sum",
}


@cache
def answers(notebook):
    return load_answers(next(name for name in rooms() if name[:2] == notebook))


@pytest.mark.parametrize("kept", KEPT)
def test_the_output_is_the_gpus_bit_for_bit(kept):
    exercise = find(kept.exercise)
    inputs, output = restore(kept)
    simulated = run_simulated(exercise, answers(kept.exercise[:2])[kept.exercise], kept.shape, inputs)
    found = compare(exercise.problem, inputs, kept.shape, output, simulated)
    if kept.exercise in ZIGZAG:  # a sum that lies near the middle of two bf16 may fall on either side of it
        assert found.steps <= 1
        assert found.differ < found.elements / 5_000
    else:
        assert found.of_bound < (2 if kept.exercise in APPROXIMATE else 0.1)  # either may be off by the bound
        assert found.bit_for_bit or kept.exercise in APPROXIMATE


def test_every_gemm_of_the_ladder_is_among_them():
    for record in RECORDS:
        kept = {one.exercise for one in record.outputs}
        assert kept >= {"04.4", "05.2", "05.7", "07.1", "07.6", "08.2", "09.3", "09.5", "10.2", "10.3", "11.4", "12.1"}


@pytest.mark.parametrize(("record", "kernel"), COUNTED)
def test_wavefronts_and_sectors_are_ncus(record, kernel):
    read, counted = record.accesses[kernel], count_simulated(kernel)
    for ours, theirs in COUNTERS.items():
        assert counted[ours][0] == read[theirs], ours
    assert counted["global ld"][0] + counted["global cp.async"][0] == read[f"{PIPE}_ld.sum"]


@pytest.mark.parametrize(("record", "kernel"), COUNTED)
def test_so_are_the_fewest_possible(record, kernel):
    read, counted = record.accesses[kernel], count_simulated(kernel)
    for space, name in (("shared", "memory_l1_wavefronts_shared"), ("global", "memory_l2_theoretical_sectors_global")):
        sums = [sum(both[n] for key, both in counted.items() if key.startswith(space)) for n in (0, 1)]
        assert sums == [read[name], read[f"{name}_ideal"]]


def test_a_gpu_sees_the_conflicts_that_the_kernels_differ_by():
    for record in RECORDS:
        naive, padded, swizzled = (
            record.accesses[f"{name} transpose"][COUNTERS["shared ld"]] for name in ("naive", "padded", "swizzled")
        )
        assert naive == 32 * swizzled == 32 * padded


def test_the_sizes_that_are_compared_have_blocks_and_k_tiles_enough():
    """A tile of C is 128×128 at most, a K tile 64 deep at most."""
    for exercise, _, shape in witnessed():
        assert shape in sizes_kept(exercise)
        if exercise.problem.dims == "MNK":
            m, n, k = shape
            assert -(-m // 128) * -(-n // 128) >= 4
            assert k > 3 * 32
            assert (m % 128, n % 128) != (0, 0)


def test_inputs_do_not_depend_on_the_machine():
    """So that a hash of them can say that they are the GPU's."""
    first, second = inputs_of(find("09.5").problem, (16, 8, 24)), inputs_of(find("09.5").problem, (16, 8, 24))
    assert all(map(type(first[0]).equal, first, second))
