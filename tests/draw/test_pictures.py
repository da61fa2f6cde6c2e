"""tutorlib.draw: every picture is one that a notebook can hold."""

import subprocess
import sys
from io import BytesIO

import pytest
from matplotlib.figure import Figure
from PIL import Image
from tensor_layouts import Swizzle

import tutorlib
from tutorlib.layouts.matrix import TooLarge
from tutorlib.layouts.notation import NotationError

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
    "compose": lambda: tutorlib.show_compose("(6,2):(8,2)", "(4,3):(3,1)"),
    "compose to a row": lambda: tutorlib.show_compose("(6,2):(8,2)", "4:3"),
    "complement": lambda: tutorlib.show_complement("(2,2):(1,6)", 24),
    "product": lambda: tutorlib.show_product("(2,2):(2,1)", "(3,2):(2,1)"),
    "banks": lambda: tutorlib.show_banks("(32,32):(32,1)", [(lane, 0) for lane in range(32)]),
    "bank vectors": lambda: tutorlib.show_banks("(8,64):(64,1)", [(row, 0) for row in range(8)], 2, 8),
    "swizzle": lambda: tutorlib.show_swizzle((3, 3, 3), "(8,64):(64,1)"),
    "swizzle by element": lambda: tutorlib.show_swizzle(Swizzle(3, 0, 3), "(8,8):(8,1)", element_bytes=4),
    "threads": lambda: tutorlib.show_tv("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16)),
    "an SM": tutorlib.show_sm,
    "a GPU": tutorlib.show_machine,
    "an mbarrier": lambda: tutorlib.show_mbarrier(2, [("arrive", 1024), ("arrive", 0), ("bytes", 1024)]),
    "a reduction": tutorlib.show_reduction,
    "an older GPU": lambda: tutorlib.show_machine("NVIDIA A100-SXM4-80GB"),
    "a wgmma's accumulators": tutorlib.show_wgmma,
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
