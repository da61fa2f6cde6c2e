"""The GEMM of notebooks 09 to 12: what it compiles to, and which sizes it takes."""

import re
from functools import partial

import pytest
from tensor_layouts import Layout
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tutorlib import device
from tutorlib.compile import CompileFailed, TensorSpec, compile_cute
from tutorlib.exercises.n09_gemm_baseline import columns, mma_column
from tutorlib.gemm import (
    GemmConfig,
    grouped,
    in_eights,
    make_gemm,
    multistage,
    raster,
    single_buffer,
    store_through_smem,
)
from tutorlib.kernel import KernelExercise
from tutorlib.problem import gemm
from tutorlib.reading import counts, opcodes, story
from tutorlib.versus import compare_on_gpu

RUNGS = {
    "one buffer": make_gemm(GemmConfig(), single_buffer),
    "two stages": make_gemm(GemmConfig(stages=2), multistage),
    "grouped": make_gemm(GemmConfig(stages=2), multistage, in_eights),
    "three stages": make_gemm(GemmConfig(stages=3), multistage, in_eights),
    "tuned": make_gemm(GemmConfig((128, 256, 32), (2, 4), 4), multistage, in_eights),
}
TRIPLES = [
    (1, 1, 8),
    (7, 129, 1000),
    (129, 7, 64),
    (1000, 127, 4096),
    (4096, 1000, 72),
    (128, 128, 128),
    (127, 64, 8),
    (64, 4096, 1000),
    (1000, 1000, 1000),
    (4096, 129, 128),
]


def compiled(kernel, shape, arch="sm_80"):
    m, n, k = shape
    return compile_cute(kernel, [TensorSpec(s, "bf16") for s in ((m, k), (n, k), (m, n))], arch)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", RUNGS)
def test_each_rung_fits_its_registers_and_moves_128_bits_at_a_time(name, arch):
    result = compiled(RUNGS[name], (4096, 4096, 4096), arch)
    assert not result.spill_bytes
    assert re.findall(r"cp\.async\.c[ag]\.shared\.global \[.*?\], \[.*?\], (\d+)", result.ptx)
    assert set(re.findall(r"cp\.async\.c[ag]\.shared\.global \[.*?\], \[.*?\], (\d+)", result.ptx)) == {"16"}
    found = opcodes(result.ptx)
    assert {"st.shared", "st.global"}.isdisjoint(found)
    assert found.count("st.global.v4") == 16
    assert found.count("mma.sync") in (64, 128)


def test_the_numbers_of_the_baseline_as_its_page_derives_them():
    result = compiled(RUNGS["one buffer"], (4096, 4096, 4096))
    found = opcodes(result.ptx)
    names = ("cp.async", "ldmatrix.x4", "mma.sync", "st.global.v4", "bar.sync", "wait_group")
    assert [found.count(name) for name in names] == [16, 32, 128, 16, 2, 1]
    assert story(result.ptx).startswith("cp.async ×16 → wait_group → bar.sync → ldmatrix.x4 ×8 → mma.sync ×32")
    assert "  16 cp.async\n" in counts(result.ptx)
    assert result.smem_bytes == GemmConfig().smem_bytes


def test_edges_cost_nothing_where_tiles_are_whole():
    assert compiled(RUNGS["one buffer"], (384, 256, 128)).ptx.count("setp") < 10
    assert compiled(RUNGS["one buffer"], (385, 256, 128)).ptx.count("setp") > 10


@pytest.mark.parametrize("k", [1, 7, 127, 129, 4])
def test_rows_that_do_not_start_at_16_bytes_are_refused_in_words(k):
    says = f"K = {k}: rows must start at multiples of 16 bytes, so K must be a multiple of 8"
    with pytest.raises(CompileFailed, match=says):
        compiled(RUNGS["three stages"], (128, 128, k))


def test_the_detour_takes_whole_tiles():
    with pytest.raises(CompileFailed, match="not made of whole tiles"):
        compiled(make_gemm(GemmConfig(), single_buffer, epilogue=store_through_smem), (129, 128, 64))


def test_a_page_says_what_it_cannot_measure(capsys):
    kernels = {"one buffer": RUNGS["one buffer"], "two stages": RUNGS["two stages"]}
    compare_on_gpu(kernels, sizes=(512,))
    said = capsys.readouterr().out
    reason = device.why_not("80")
    assert said == f"one buffer against two stages: not measured: {reason}\n" if reason else said.startswith("512: one")


@pytest.mark.parametrize("group", [1, 3, 8, 100])
@pytest.mark.parametrize("grid", [(1, 1), (8, 8), (13, 5), (5, 13), (32, 17)])
def test_an_order_of_blocks_visits_every_tile_once(grid, group):
    everything = sorted((m, n) for m in range(grid[0]) for n in range(grid[1]))
    for order in (raster, in_eights, partial(grouped, group=group)):
        assert sorted(order(block, *grid) for block in range(len(everything))) == everything


def test_the_page_counts_the_columns_of_an_mma_as_the_hardware_does():
    lanes = {(lane, value): MMA.c_layout(lane, value) // 16 for lane in range(4) for value in range(2)}
    assert lanes == {(lane, value): mma_column(value, lane, 0, 0, 1) for lane, value in lanes}


def test_the_order_of_columns_is_the_course_s():
    from cutlass import cute

    from tutorlib.gemm import n_order

    config, said = GemmConfig((128, 256, 32), (2, 4), 4), []

    def note(layout):
        said.append(Layout(layout.shape, layout.stride))

    @cute.jit
    def host():
        note(n_order(config))

    host()
    assert said[0] == columns(config.warps[1], config.tile[1])


@pytest.mark.skipif(device.why_not("80") is not None, reason=f"{device.why_not('80')}")
@pytest.mark.parametrize("name", RUNGS)
def test_each_rung_is_right_at_mixed_sizes(name):
    exercise = KernelExercise(
        id="00.0", title=name, points=1, problem=gemm("bf16"), shapes=tuple(TRIPLES), requires=("mma.sync",)
    )
    outcome = exercise.grade(RUNGS[name])
    assert outcome.status == "passed", outcome.message
