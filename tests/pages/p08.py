"""Page 08: answers that are whole functions, and what rows of p08.txt are made of."""

import math
from runpy import run_path

import cuda.tile as ct
import torch

from tests.pages.table import right, wrong
from tutorlib.compiling.dsls import lasting_folder
from tutorlib.course.answers import load_answers
from tutorlib.course.source import parse
from tutorlib.paths import SOLUTIONS

GEMM = load_answers("07_cutile_gemm")["07.1"]
PARTS = load_answers("08_cutile_fp8")["08.2"]


@right("08.3")
def in_place_where_it_can(a, b, c):
    """One part goes through a kernel of its own, without parts."""
    rows, columns = math.ceil(c.shape[0] / 128), math.ceil(c.shape[1] / 128)
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    if rows * columns >= sms:
        ct.launch(torch.cuda.current_stream(), (rows, columns), GEMM, (a, b, c, 128, 128, 64))
    else:
        split()(a, b, c)


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


@wrong("08.3", "raised")
def a_number_for_the_stream(a, b, c):
    """The SMs where the stream should be."""
    parts = torch.empty(1, *c.shape, device=a.device)
    ct.launch(132, (ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128), 1), PARTS, (a, b, parts, 128, 128, 64))


def load_page():
    """The names of the solved page's functions that are no exercise's answer."""
    code = next(cell for cell in parse(SOLUTIONS / "08_cutile_fp8.py") if "def add_parts" in cell.solved)
    file = lasting_folder() / "page.py"
    file.write_text("import cuda.tile as ct\n\n" + code.solved, encoding="utf-8")
    return run_path(str(file))


ADD_PARTS = load_page()["add_parts"]
