"""Page 07: answers that are whole functions, and what rows of p07.txt are made of."""

import math
from runpy import run_path

import cuda.tile as ct
import numpy as np
import torch

from tests.pages.table import right, solution, wrong
from tutorlib.compiling.dsls import lasting_folder
from tutorlib.course.answers import load_answers
from tutorlib.course.source import parse
from tutorlib.paths import SOLUTIONS

RIGHT = load_answers("07_cutile_gemm")
GEMM, PERSISTENT, TF32, FP8, PARTS = (RIGHT[id] for id in ("07.1", "07.4", "07.6", "07.7", "07.8"))


@right("07.2")
def by_divmod(block, rows, columns, group):
    """divmod, and a conditional in place of min."""
    strip, place = divmod(block, group * columns)
    height = group if (strip + 1) * group <= rows else rows - strip * group
    column, row = divmod(place, height)
    return strip * group + row, column


@right("07.2")
def upwards(block, rows, columns, group):
    """Goes up each column of a strip, not down."""
    m, n = by_divmod(block, rows, columns, group)
    first = m // group * group
    return first + min(first + group, rows) - 1 - m, n


@right("07.5")
def by_numpy(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """NumPy's truth value."""
    use = np.array(
        [tm * tn * occupancy / (num_ctas * warps * 32), 2 * occupancy * (tm + tn) * tk * element_bytes / num_ctas]
    )
    return np.all(use <= (128, 227 * 1024))


@right("07.9")
def in_place_where_it_can(a, b, c):
    """One part goes through a kernel of its own, without parts."""
    rows, columns = math.ceil(c.shape[0] / 128), math.ceil(c.shape[1] / 128)
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    if rows * columns >= sms:
        ct.launch(torch.cuda.current_stream(), (rows, columns), GEMM, (a, b, c, 128, 128, 64))
    else:
        split()(a, b, c)


@wrong("07.5", "gives", lesson=True)
def one_stage(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Asks for room for a single stage."""
    room = occupancy * (tm + tn) * tk * element_bytes <= num_ctas * 227 * 1024
    return room and tm * tn * occupancy <= num_ctas * warps * 32 * 128


def in_doubt(**changes):
    """A rule with something else in it: each part of `fits` by name."""

    def rule(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
        values = {
            "threads": num_ctas * warps * 32,
            "stages": 2,
            "room": 227 * 1024,
            "at_most": 128,
            "sharing": occupancy,
        }
        values |= {name: part(num_ctas, warps, occupancy) if callable(part) else part for name, part in changes.items()}
        registers = tm * tn / values["threads"] * values["sharing"]
        shared = values["stages"] * (tm + tn) * tk * element_bytes / values.get("ctas", num_ctas) * occupancy
        return registers <= values["at_most"] and shared <= values["room"]

    return rule


def split(splits=None, grid=None, second=None, adds=(32, 64), dtype=torch.float32, room=torch.empty, first=True):
    """A function like the solution's with something else in one place. splits: of (sms, tiles, steps)."""

    def split_gemm(a, b, c):
        rows, columns, steps = ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128), ct.cdiv(a.shape[1], 64)
        sms = torch.cuda.get_device_properties(a.device).multi_processor_count
        n = splits(sms, rows * columns, steps) if splits else max(1, min(sms // (rows * columns), steps))
        parts = room(n, *c.shape, device=a.device, dtype=dtype)
        stream = torch.cuda.current_stream()
        where = grid(rows, columns, n) if grid else (rows, columns, n)
        if first:
            ct.launch(stream, where, PARTS, (a, b, parts, 128, 128, 64))
        if second != ():
            ct.launch(stream, second or tuple(map(ct.cdiv, c.shape, adds)), ADD_PARTS, (parts, c, *adds))

    return split_gemm


@wrong("07.9", "raised")
def a_number_for_the_stream(a, b, c):
    """The SMs where the stream should be."""
    parts = torch.empty(1, *c.shape, device=a.device)
    ct.launch(132, (ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128), 1), PARTS, (a, b, parts, 128, 128, 64))


def load_page():
    """The names of the solved page's functions that are no exercise's answer."""
    code = next(cell for cell in parse(SOLUTIONS / "07_cutile_gemm.py") if "def add_parts" in cell.solved)
    file = lasting_folder() / "page.py"
    file.write_text("import cuda.tile as ct\n\n" + code.solved, encoding="utf-8")
    return run_path(str(file))


ADD_PARTS = load_page()["add_parts"]


tf32 = solution("07.6")
