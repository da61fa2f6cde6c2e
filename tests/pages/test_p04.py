"""Notebook 04: its answers and references against tensor_layouts and the real CuTe DSL."""

from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_layouts import Layout, Swizzle, compose
from tensor_layouts.analysis import per_group_bank_conflicts
from tensor_layouts.layout_utils import tile_to_shape

from tutorlib.course.source import parse
from tutorlib.exercises import p04 as n03
from tutorlib.models import memory
from tutorlib.paths import SOLUTIONS

LANES = range(32)
ATOM = Layout((8, 64), (64, 1))  # bf16
FP8_ATOM = Layout((8, 128), (128, 1))


@cache
def solution(name):
    """A function of the solved notebook, from its answer cell alone."""
    exercise = next(exercise.id for exercise in n03.EXERCISES if exercise.title == name)
    namespace = {"Layout": Layout}
    for cell in parse(SOLUTIONS / "04_swizzles.py"):
        if cell.role == "answer" and cell.exercise == exercise:
            exec(cell.solved, namespace)
    return namespace[name]


@cache
def real_cute():
    """What the real CuTe DSL says while it traces: offsets and layouts as plain Python. `import cutlass` takes 3 s."""
    import cutlass
    from cutlass import cute

    answers = {}

    def swizzled(b, m, s, layout):
        return cute.make_composed_layout(
            cute.make_swizzle(b, m, s), 0, cute.make_layout(layout.shape, stride=layout.stride)
        )

    @cute.jit
    def trace(answers: cutlass.Constexpr):
        for b, m, s in SWIZZLES:
            line = swizzled(b, m, s, Layout(4096, 1))
            answers[b, m, s] = [line(offset) for offset in OFFSETS]
        tile = cute.tile_to_shape(swizzled(3, 4, 3, FP8_ATOM), (128, 256), order=(0, 1))
        answers["tile"] = {(row, column): tile((row, column)) for row in range(0, 128, 5) for column in range(256)}

    trace(answers)
    return answers


SWIZZLES = [(b, m, s) for b, m, s in product(range(1, 4), range(5), range(1, 6)) if b <= s]
OFFSETS = [*range(0, 4096, 37), 1, 8, 64, 72, 511, 512, 4095]


# Wavefronts


@given(st.data())
@settings(max_examples=150)
def test_wavefronts_agree_with_tensor_layouts(data):
    """Lanes and their bytes as a TV layout: tensor_layouts counts the ways of each group of lanes, and they add up."""
    width = data.draw(st.sampled_from([4, 8, 16]))
    shape = data.draw(st.sampled_from([(32,), (4, 8), (8, 4), (2, 16), (2, 4, 4)]))
    strides = tuple(data.draw(st.integers(0, 40)) * width for _ in shape)
    access = Layout((shape, width), (strides, 1))
    groups = per_group_bank_conflicts(access, element_bytes=1, group_size=min(32, 128 // width))["groups"]
    addresses = [access(lane, 0) for lane in LANES]
    assert solution("wavefronts")(addresses, width) == sum(group["max_ways"] for group in groups)
    assert solution("wavefronts")(addresses, width) == n03.wavefronts(addresses, width)


# Accesses whose wavefronts can be counted by hand.
KNOWN = [
    ("a row of words", lambda t: 4 * t, 4, 1),
    ("every second word", lambda t: 8 * t, 4, 2),
    ("a column of 32 words", lambda t: 128 * t, 4, 32),
    ("the same, padded", lambda t: 132 * t, 4, 1),
    ("stride 36 words", lambda t: 144 * t, 4, 4),
    ("one word for all", lambda t: 0, 4, 1),
    ("two words of one bank", lambda t: t // 16 * 128, 4, 2),
    ("8 bytes in a row", lambda t: 8 * t, 8, 2),
    ("8 bytes, halves alike", lambda t: t % 16 * 8, 8, 2),
    ("8 bytes, every second", lambda t: 16 * t, 8, 4),
    ("16 bytes in a row", lambda t: 16 * t, 16, 4),
    ("16 bytes, quarters alike", lambda t: t % 8 * 16, 16, 4),
    ("16 bytes, every second", lambda t: 32 * t, 16, 8),
    ("16 bytes down a column", lambda t: 128 * t, 16, 32),
    ("16 bytes, padded by 16", lambda t: 144 * t, 16, 4),
    ("16 bytes, swizzled by lane % 8", lambda t: 128 * t + t % 8 * 16, 16, 4),
    ("16 bytes, swizzled by lane // 4", lambda t: 128 * t + t // 4 * 16, 16, 16),
]


@pytest.mark.parametrize(("address", "width", "wanted"), [case[1:] for case in KNOWN], ids=[case[0] for case in KNOWN])
def test_wavefronts_of_known_accesses(address, width, wanted):
    assert solution("wavefronts")([address(lane) for lane in LANES], width) == wanted


# Swizzles


def test_swizzles_agree_with_real_cute():
    for b, m, s in SWIZZLES:
        assert [Swizzle(b, m, s)(offset) for offset in OFFSETS] == real_cute()[b, m, s]
        assert [offset ^ (offset >> (m + s) & (1 << b) - 1) << m for offset in OFFSETS] == real_cute()[b, m, s]


@pytest.mark.parametrize(
    ("row_bytes", "element_bytes", "vector_bytes"),
    [case for case in product((32, 64, 128, 256, 512), (1, 2, 4), (4, 8, 16)) if case[1] <= case[2]],
)
def test_the_chosen_swizzle_is_the_only_one_with_so_few_bits(row_bytes, element_bytes, vector_bytes):
    row, vector, lanes = row_bytes // element_bytes, vector_bytes // element_bytes, 128 // vector_bytes

    def works(b, m, s):
        mixed = Swizzle(b, m, s)
        starts = range(0, lanes * row, vector)
        whole = all(mixed(start + n) == mixed(start) + n for start in starts for n in range(vector))
        columns = ([mixed(row * r + c) for r in range(lanes)] for c in range(0, row, vector))
        return whole and all(memory.wavefronts(column, element_bytes, vector) == 1 for column in columns)

    fewest = next(b for b in range(6) if any(works(b, m, s) for m, s in product(range(6), range(b, 9))))
    best = solution("choose_swizzle")(row_bytes, element_bytes, vector_bytes)
    assert [(fewest, m, s) for m, s in product(range(6), range(fewest, 9)) if works(fewest, m, s)] == [best]
    assert n03.swizzle_flaw(best, row_bytes, element_bytes, vector_bytes) is None


def test_the_tile_agrees_with_real_cute_and_tensor_layouts():
    tile_offset = solution("tile_offset")
    assert all(tile_offset(*at) == offset for at, offset in real_cute()["tile"].items())
    tile = compose(Swizzle(3, 4, 3), tile_to_shape(FP8_ATOM, (128, 256)))
    cells = list(product(range(128), range(256)))
    assert all(tile_offset(*at) == tile(*at) == n03.tile_offset(*at) for at in cells)
    assert sorted(tile_offset(*at) for at in cells) == list(range(128 * 256))


@pytest.mark.parametrize(
    ("atom", "read", "write"), [(ATOM, (8, 1), (1, 1)), (Layout((8, (8, 8)), (8, (1, 64))), (1, 1), (8, 1))]
)
def test_the_swizzle_mends_either_atom(atom, read, write):
    """(plain, swizzled) wavefronts of eight chunks down a column, and along a row."""
    for n, stored in enumerate((atom, compose(Swizzle(3, 3, 3), atom))):
        for c in range(0, 64, 8):
            assert memory.wavefronts([stored(r, c) for r in range(8)], 2, 8) == read[n]
        for r in range(8):
            assert memory.wavefronts([stored(r, c) for c in range(0, 64, 8)], 2, 8) == write[n]
