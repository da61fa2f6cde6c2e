"""Notebook 05: the ladder's kernels, compiled; where there is a GPU, the wrong ones run too."""

import re

import pytest
from tensor_layouts import Layout, Swizzle, compose

from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.models.memory import wavefronts

TILE_BYTES = 128 * 64 * 2  # of the copies, bf16
TURN_BYTES = 64 * 64 * 4  # of the transposes, fp32

NAMES = {"coalesced": "05.1", "tma": "05.2", "transpose": "05.3"}


@pytest.fixture(scope="module")
def answers():
    return load_answers("05_copy_kernels")


def compiled(answers, name, shape, arch="sm_80", dtype="bf16"):
    out = shape[::-1] if name.startswith("transpose") else shape
    return compile_cute(answers[NAMES[name]], [TensorSpec(shape, dtype), TensorSpec(out, dtype)], arch)


LADDER = [
    # answer, dtype, shape, bytes of shared memory, accesses of each thread: opcode → how many
    ("coalesced", "bf16", (129, 250), 0, {r"ld\.global\.b16": 64, r"st\.global\.b16": 64}),
    ("transpose", "fp32", (128, 320), TURN_BYTES, {r"cp\.async\.ca\S*": 16, r"ld\.shared\.b32": 16}),
    ("tma", "bf16", (300, 1048), TILE_BYTES + 8, {r"cp\.async\.bulk\.tensor\S*": 6, r"mbarrier\.init\S*": 1}),
]


@pytest.mark.parametrize(("answer", "dtype", "shape", "smem", "accesses"), LADDER, ids=[rung[0] for rung in LADDER])
def test_each_rung_compiles_to_what_its_page_says(answers, answer, dtype, shape, smem, accesses):
    result = compiled(answers, answer, shape, find(NAMES[answer]).needs.target, dtype)
    assert not result.spill_bytes
    assert smem <= result.smem_bytes < smem + 1024 + 8
    for opcode, times in accesses.items():
        assert len(re.findall(rf"^\s*(?:@!?%\w+\s+)?{opcode}\s", result.ptx, re.MULTILINE)) == times, opcode


@pytest.mark.parametrize(
    ("answer", "shape", "dtype", "arch", "says"),
    [
        ("transpose", (64, 96), "fp32", "sm_80", "64×96 is not made of 64×64 tiles"),
        ("tma", (128, 100), "bf16", "sm_90a", "do not begin at multiples of 16 bytes"),
    ],
)
def test_a_size_that_a_rung_cannot_do_is_refused_in_words(answers, answer, shape, dtype, arch, says):
    with pytest.raises(CompileFailed, match=re.escape(says)):
        compiled(answers, answer, shape, arch, dtype)


def test_the_swizzle_of_the_page_has_no_conflicts_in_either_direction():
    plain = Layout((64, 64), (64, 1))
    mixed = compose(Swizzle(5, 0, 6), plain)
    for column in range(64):
        for top in (0, 32):
            assert wavefronts([plain(top + row, column) for row in range(32)], element_bytes=4) == 32
            assert wavefronts([mixed(top + row, column) for row in range(32)], element_bytes=4) == 1
    for row in range(64):
        for left in (0, 32):
            assert wavefronts([mixed(row, left + column) for column in range(32)], element_bytes=4) == 1
