"""Answers that name what their exercise forbids are refused while they are graded, and nothing else is."""

import json
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest

from tests.trial_course import Course, cell
from tutorlib.checking.graded_run import judging_for_points
from tutorlib.checking.values import Drawn, law
from tutorlib.grading import sandbox
from tutorlib.paths import NOTEBOOKS, ROOT

needs_bubblewrap = pytest.mark.skipif(bool(sandbox.why_open()), reason="needs bubblewrap")

# Exercise → how it names the function, and the answer's cell. Each gives a right result.
NAMING = {
    "01.1": (
        "by its class, in a thread",
        """
        from concurrent.futures import ThreadPoolExecutor

        def offset(coord, stride):
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(Layout(tuple(99 for _ in coord), stride), *coord).result()
        """,
    ),
    "01.2": (
        "of NumPy",
        """
        import numpy

        def compact_strides(shape, order):
            array = numpy.empty(shape, "int8", order="C" if order == "row" else "F")
            return tuple(array.strides)
        """,
    ),
    "01.7": (
        "by another name from the head of its cell",
        """
        from tensor_layouts import cosize as reach

        def cosize_of(shape, stride):
            return reach(Layout(shape, stride))
        """,
    ),
    "01.9": (
        "in a class",
        """
        class Slicer:
            def __init__(self, layout):
                self.tensor = Tensor(layout)

            def at(self, coord):
                free = self.tensor[coord]
                return free.offset, free.layout

        def sliced(layout, coord):
            return Slicer(layout).at(coord)
        """,
    ),
    "02.1": (
        "as an attribute of the package",
        """
        def coalesce(layout, package=tl):
            return package.coalesce(layout)
        """,
    ),
    "02.2": (
        "in torch",
        """
        from torch.distributed import _pycute as theirs

        def compose(a, b):
            made = theirs.composition(theirs.Layout(a.shape, a.stride), theirs.Layout(b.shape, b.stride))
            return Layout(made.shape, made.stride)
        """,
    ),
    "02.3": (
        "of the oracle",
        """
        judge = ask

        def transposing(rows, columns):
            return judge([("composition", Layout(rows * columns, 1), Layout((columns, rows), (rows, 1)))])[0]
        """,
    ),
    "02.4": (
        "in a string",
        """
        def complement(layout, bound):
            return getattr(tl, "complement")(layout, bound)
        """,
    ),
    "02.5": (
        "in a dictionary",
        """
        USED = {"first": tl.logical_divide}

        def logical_divide(layout, tile):
            return USED["first"](layout, tile)
        """,
    ),
    "02.6": (
        "in a partial function",
        """
        from functools import partial
        zipped_divide = partial(tl.zipped_divide)
        """,
    ),
    "02.8": (
        "as the answer itself",
        """
        logical_product = tl.logical_product
        """,
    ),
    "02.11": (
        "in CuTe",
        """
        def common_vector(a, b):
            from cutlass import cute
            seen = []

            @cute.jit
            def trace():
                made = [cute.make_layout(one.shape, stride=one.stride) for one in (a, b)]
                seen.append(cute.max_common_vector(*made))

            trace()
            return int(seen[0])
        """,
    ),
    "03.1": (
        "in a helper",
        """
        def helper(addresses, width):
            return banks.wavefronts(addresses, 1, width)

        def wavefronts(addresses, width):
            return helper(addresses, width)
        """,
    ),
    "03.3": (
        "by its class",
        """
        def swizzle(b, m, s, offset):
            return Swizzle(b, m, s)(offset)
        """,
    ),
    "03.5": (
        "at the head of its cell, for a table",
        """
        TABLE = [[tile(row, column) for column in range(64)] for row in range(128)]

        def tile_offset(row, column):
            return TABLE[row][column]
        """,
    ),
    "03.6": (
        "as the page's attribute, for a table",
        """
        TABLE = [[divmod(mma.c_layout(lane, value), 16)[::-1] for value in range(4)] for lane in range(32)]

        def c_coordinate(lane, value):
            return TABLE[lane][value]
        """,
    ),
}


def graded(folder: Path, answers: dict[str, str]) -> dict[str, dict]:
    """Exercise → its outcome, of a page's notebook with these answers."""
    (path,) = {one for id in answers for one in NOTEBOOKS.glob(f"{id[:2]}_*.ipynb")}
    notebook = nbformat.read(path, as_version=4)
    for id, text in answers.items():
        cell(notebook, f"answer-{id.replace('.', '-')}").source = dedent(text)
    nbformat.write(notebook, folder / path.name)
    done = Course(ROOT).tutor("grade", folder / path.name, "--timeout", 30, "--format", "json")
    assert done.stdout, done.stderr
    return {one["id"]: one for one in json.loads(done.stdout)["exercises"]}


@pytest.fixture(scope="module")
def named(tmp_path_factory) -> dict[str, dict]:
    outcomes: dict[str, dict] = {}
    for page in ("01", "02", "03"):
        answers = {id: text for id, (_, text) in NAMING.items() if id.startswith(page)}
        outcomes |= graded(tmp_path_factory.mktemp(page), answers)
    return outcomes


@needs_bubblewrap
@pytest.mark.parametrize("id", [pytest.param(id, id=f"{id} {how}") for id, (how, _) in NAMING.items()])
def test_a_forbidden_function_gives_no_points(named, id):
    assert named[id]["points"] == 0, named[id]
    assert "which does what you are asked to write" in named[id]["message"]


HONEST = {
    "02.2": """
        def compose(a, b):
            if isinstance(b.shape, tuple):
                return Layout(*(compose(a, mode(b, n)) for n in range(rank(b))))
            if b.shape == 1 or b.stride == 0:
                return Layout(b.shape, 0)
            found, left, step = [], b.shape, b.stride
            *modes, (_, last) = zip(*(flatten((part,)) for part in (tl.coalesce(a).shape, tl.coalesce(a).stride)))
            for extent, stride in modes:
                if step % extent == 0:
                    step //= extent
                elif (left - 1) * step < extent:
                    return Layout(*zip(*found, (left, step * stride))) if found else Layout(left, step * stride)
                elif extent % step or left % (extent // step):
                    raise ValueError
                else:
                    found.append((extent // step, step * stride))
                    left, step = left // (extent // step), 1
            return Layout(*zip(*found, (left, step * last))) if found else Layout(left, step * last)
        """,
    "02.3": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)

        def transposing(rows, columns):
            return pool.submit(tl.compose, Layout(rows * columns, 1), Layout((columns, rows), (rows, 1))).result()
        """,
    "02.5": """
        def logical_divide(layout, tile):
            try:
                tl.compose(Layout((4, 6), (1, 10)), Layout(5, 3))
            except tl.LayoutError:
                return tl.compose(layout, Layout(tile, tl.complement(tile, size(layout))))
        """,
}


@needs_bubblewrap
def test_what_an_exercise_does_not_forbid_works(tmp_path):
    outcomes = graded(tmp_path, HONEST)
    assert {id: outcomes[id]["status"] for id in HONEST} == dict.fromkeys(HONEST, "passed"), outcomes


def test_what_one_exercise_is_asked_does_not_tell_what_another_will_be():
    """Two laws that draw by the same function get other calls while an answer is graded."""
    seen: list[list[int]] = []
    for seed in (1, 2):
        calls: list[int] = []
        drawn = Drawn(lambda rng: [(rng,)], seed)
        with judging_for_points():
            law("drawn", drawn, lambda got, rng: None).judge(calls.append)
        seen.append(calls)
    assert [one[0] for one in seen] == [1, 2]
    assert seen[0][1] != seen[1][1]
