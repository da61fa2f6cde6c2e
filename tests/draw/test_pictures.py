"""Pictures, by what they draw."""

import subprocess
import sys
from functools import partial
from io import BytesIO
from itertools import pairwise, product

import cutlass
import pytest
from hypothesis import given
from matplotlib.figure import Figure
from PIL import Image
from tensor_layouts import Swizzle

import tutorlib
from tests.models.test_timelines import timelines
from tutorlib.draw.layouts import breaks, cell_of, layout_grid
from tutorlib.draw.machines import state
from tutorlib.draw.palette import CATEGORIES, INK, RAMP, category, channels
from tutorlib.draw.tiles import READ, array_grid, order_grid, show_warps, space_grid
from tutorlib.draw.timelines import key_grid, timeline_grid
from tutorlib.exercises.judges.cute_host import in_cute
from tutorlib.exercises.p22 import key_tiles
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.thread_share import make_mma
from tutorlib.layouts.matrix import TooLarge
from tutorlib.layouts.notation import NotationError
from tutorlib.models.l2 import grouped
from tutorlib.models.memory import fresh
from tutorlib.paths import SOLUTIONS


def words(picture):
    return [text.get_text() for axes in picture.axes for text in axes.texts]


def test_what_a_pair_loads():
    assert "B: rows 128 to 255\n16 KiB" in words(tutorlib.show_pair())


def test_numbers_waves_and_what_the_first_wave_reads():
    grid = order_grid((4, 3), partial(grouped, group=2), 5, "groups of 2")
    assert grid.labels[1:] == [
        ["A", "0", "2", "4"],
        ["A", "1", "3", "5"],
        ["", "6", "8", "10"],
        ["", "7", "9", "11"],
    ]
    assert grid.colors[1][1:] == [category(0)] * 3
    assert grid.colors[2][3] == category(1)
    assert grid.colors[0][1:] == [READ] * 3
    assert grid.title.endswith("5 blocks,\nreads 2 rows of A and 3 columns of B")


def test_a_tile_computed_twice_and_one_forgotten():
    grid = order_grid((9, 9), lambda block, *_: (block // 2 % 9, block % 7), 9, "no bijection")
    holes = sum(color is None for row in grid.colors for color in row)
    assert holes == sum(label.count("\n") for row in grid.labels for label in row) > 0
    assert all("\n" in grid.labels[row][column] for row, column in grid.outlined)


def test_the_picture_shows_what_key_tiles_counts():
    for keys in (17, 64, 250, 600):
        grid = key_grid(320, keys, 64, 32)
        for m, row in enumerate(grid.labels):
            whole, end = key_tiles(m, 64, 32, keys)
            assert list(row) == ["whole"] * whole + ["mask"] * (end - whole) + [""] * (len(row) - end)


def test_a_layout_picture_shows_its_offsets_and_blocks():
    grid = layout_grid("((2,2),3):((1,6),2)", highlight=[((1, 1), 2), 0, (0, 1)])
    assert grid.labels == [["0", "2", "4"], ["1", "3", "5"], ["6", "8", "10"], ["7", "9", "11"]]
    assert list(grid.down) == ["(0,0)", "(1,0)", "(0,1)", "(1,1)"]
    assert list(grid.row_breaks) == [2]
    assert grid.outlined == {(3, 2), (0, 0), (0, 1)}
    assert breaks((2, 3, 2)).keys() == {2, 4, 6, 8, 10}
    assert breaks((2, 3, 2))[6] > breaks((2, 3, 2))[2]
    assert cell_of((2, 3, 4), (1, 2, 3)) == (1, 11)


def test_a_column_says_what_is_pending_and_which_waits_return():
    barrier = fresh(1)
    assert state(barrier) == ["1", "0", "0", "wait", "go"]
    assert state(barrier.arrive(2048)) == ["0", "2", "0", "wait", "go"]
    assert state(barrier.arrive(2048).deliver(2048)) == ["1", "0", "1", "go", "wait"]


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (n / 255 for n in channels(color))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(light, dark):
    return (luminance(light) + 0.05) / (luminance(dark) + 0.05)


def test_colors_carry_dark_text():
    """Contrast of at least 4.5 to 1 (WCAG 2, level AA) on every color."""
    assert all(contrast(color, INK) >= 4.5 for color in (*CATEGORIES, *RAMP))


def test_a_picture_of_tile_space():
    array, space = array_grid((10, 20), (4, 8)), space_grid((10, 20), (4, 8))
    assert (array.rows, array.columns) == (12, 24)
    assert (space.rows, space.columns) == (3, 3)
    assert array.colors[9][19] == space.colors[2][2]
    assert array.colors[10][19] is None
    colors = [color for row in space.colors for color in row]
    assert all(a != b for a, b in pairwise(colors))


def test_neighbors_differ_along_rows_columns_and_diagonals():
    for across in range(1, 41):
        colors = space_grid((40, across), (1, 1)).colors
        for i, j in product(range(39), range(across)):
            beside = [(0, 1), (1, -1), (1, 0), (1, 1)]
            others = [colors[i + down][j + right] for down, right in beside if 0 <= j + right < across]
            assert colors[i][j] not in others


@given(timelines)
def test_the_picture_shows_every_tick_of_every_tile(timeline):
    grid = timeline_grid(timeline)
    assert (grid.rows, grid.columns) == (timeline.stages + 1, timeline.total)
    for tile, step in enumerate(timeline.steps):
        buffer = grid.labels[tile % timeline.stages]
        assert set(buffer[step.issued : step.flows]) <= {"·"}
        assert set(buffer[step.flows : step.done]) == {str(tile)}
        shades = grid.colors[tile % timeline.stages]
        phases = [shades[step.issued : step.flows], shades[step.flows : step.arrived]]
        phases += [shades[step.arrived : step.started], shades[step.started : step.done]]
        assert all(len(set(phase)) <= 1 for phase in phases)
        assert len({phase[0] for phase in phases if phase}) == sum(map(bool, phases))
    assert sum(label != "" for label in grid.labels[-1]) == timeline.tiles * timeline.compute
    assert grid.colors[-1].count(None) == timeline.total - timeline.tiles * timeline.compute


SHOWN = "((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))"


def texts(picture, grid):
    return [text.get_text() for text in picture.axes[grid].texts]


def test_the_layout_that_the_page_shows_is_cute_s():
    assert SHOWN in (SOLUTIONS / "10_gemm_baseline.py").read_text(encoding="utf-8")
    assert in_cute(lambda: str(make_mma(GemmConfig(), cutlass.BFloat16).tv_layout_C_tiled)) == SHOWN


def test_each_piece_has_the_warp_that_owns_it():
    picture = show_warps(SHOWN, (32, 32), (64, 128))
    assert [text for text in texts(picture, 0) if "warp" in text][:4] == [
        "warp 0\nV0-1",
        "warp 2\nV0-1",
        "warp 0\nV4-5",
        "warp 2\nV4-5",
    ]
    labels = texts(picture, 1)
    assert labels.count("3") == 8 * 16 // 4


PICTURES = {
    "layout": lambda: tutorlib.show_layout("(4,3):(3,1)", highlight=[(2, 1)]),
    "nested layout": lambda: tutorlib.show_layout("((2,4),(2,4)):((1,16),(2,32))", title="nested"),
    "largest layout that shows offsets": lambda: tutorlib.show_layout("(32,32):(32,1)"),
    "one element": lambda: tutorlib.show_layout(1),
    "three modes": lambda: tutorlib.show_layout((2, 3, 4)),
    "layouts": lambda: tutorlib.show_layouts({"row-major": "(4,8):(8,1)", "column-major": (4, 8)}),
    "memory": lambda: tutorlib.show_memory("(4,3):(1,5)"),
    "memory shared": lambda: tutorlib.show_memory("((2,2),3):((1,2),0)"),
    "divide": lambda: tutorlib.show_divide("(16,8):(8,1)", (4, 4)),
    "divide past the edge": lambda: tutorlib.show_divide("(10,6):(6,1)", (4, 2)),
    "divide by a layout": lambda: tutorlib.show_divide("(8,8)", "4:2"),
    "complement": lambda: tutorlib.show_complement("(2,2):(1,6)", 24),
    "banks": lambda: tutorlib.show_banks("(32,32):(32,1)", [(lane, 0) for lane in range(32)]),
    "bank vectors": lambda: tutorlib.show_banks("(8,64):(64,1)", [(row, 0) for row in range(8)], 2, 8),
    "swizzle": lambda: tutorlib.show_swizzle((3, 3, 3), "(8,64):(64,1)"),
    "swizzle by element": lambda: tutorlib.show_swizzle(Swizzle(3, 0, 3), "(8,8):(8,1)", element_bytes=4),
    "threads": lambda: tutorlib.show_tv("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16)),
    "two of threads": lambda: tutorlib.show_tvs({"a": "(8,8):(1,8)", "b": "(8,8)"}, (8, 8), ("m", "k"), [[(0, 1)]], 30),
    "an SM": tutorlib.show_sm,
    "a GPU": tutorlib.show_machine,
    "an mbarrier": lambda: tutorlib.show_mbarrier(2, [("arrive", 1024), ("arrive", 0), ("bytes", 1024)]),
    "a reduction": tutorlib.show_reduction,
    "a block's loop": lambda: tutorlib.show_attention_loop([(1, 3), (2, 0), (5, 4)], [(2, 4), (1, 0), (3, 5)]),
    "an older GPU": lambda: tutorlib.show_machine("NVIDIA A100-SXM4-80GB"),
    "a wgmma's accumulators": tutorlib.show_wgmma,
    "gate and up": lambda: tutorlib.show_gate(32, 8),
    "registers of gate and up": tutorlib.show_gate_registers,
    "shares of ranks": tutorlib.show_shards,
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_figures_that_fit_a_notebook(name):
    figure = PICTURES[name]()
    assert isinstance(figure, Figure)
    png = figure._repr_png_()
    width, height = Image.open(BytesIO(png)).size
    assert len(png) < 60_000
    assert width <= 1100
    assert height <= 1100
    assert all(text.get_text() for axes in figure.axes for text in axes.texts)


def test_nothing_is_cut_off():
    for draw_picture in PICTURES.values():
        figure = draw_picture()
        image = Image.open(BytesIO(figure._repr_png_())).convert("RGB")
        width, height = image.size
        rim = [image.getpixel((x, y)) for x in range(width) for y in (0, height - 1)]
        rim += [image.getpixel((x, y)) for y in range(height) for x in (0, width - 1)]
        assert set(rim) == {(255, 255, 255)}


def test_a_notebook_shows_a_picture_once():
    """In a kernel's shell the value of the cell is the one PNG, also when pyplot is imported and inline."""
    code = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.displaypub import CapturingDisplayPublisher
from matplotlib_inline.backend_inline import configure_inline_support, flush_figures
shell = InteractiveShell.instance()
shell.display_pub = CapturingDisplayPublisher()
from tutorlib import show_layout
import sys
assert "matplotlib.pyplot" not in sys.modules
bundle, _ = shell.display_formatter.format(show_layout("(4,3):(3,1)"))
assert sorted(bundle) == ["image/png", "text/plain"], bundle.keys()
import matplotlib.pyplot
configure_inline_support(shell, "module://matplotlib_inline.backend_inline")
bundle, _ = shell.display_formatter.format(show_layout("(4,3):(3,1)"))
assert sorted(bundle) == ["image/png", "text/plain"], bundle.keys()
flush_figures()
assert shell.display_pub.outputs == []
assert matplotlib.pyplot.get_fignums() == []
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(TooLarge, match="1,000,000 elements"):
        tutorlib.show_layout("(1000,1000)")
    with pytest.raises(NotationError):
        tutorlib.show_layout("(4,3")
    with pytest.raises(ValueError, match="33 threads"):
        tutorlib.show_banks("(64,2)", range(33))
    with pytest.raises(ValueError, match="reaches element 14"):
        tutorlib.show_tv("(4,2):(2,8)", (4, 3))


def test_a_gpu_that_nobody_knows_has_no_picture():
    with pytest.raises(LookupError, match="no numbers are known for 'GeForce 256'"):
        tutorlib.show_machine("GeForce 256")
