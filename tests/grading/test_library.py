"""The functions that a page's exercises forbid are not in the sandbox: no evasion gets points with them."""

import ast
import builtins
import json
import os
import threading
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest
import tensor_layouts as tl
from tensor_layouts import Layout, LayoutError
from tutorlib.grading.library_client import LIBRARY, ask_library

from tests.trial_course import Course, cell
from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.graded_run import judging_for_points
from tutorlib.checking.library_use import as_told
from tutorlib.checking.values import Drawn, law
from tutorlib.exercises import find, of_notebook
from tutorlib.grading import library_copies, library_process, sandbox
from tutorlib.paths import NOTEBOOKS, ROOT

needs_bubblewrap = pytest.mark.skipif(bool(sandbox.why_open()), reason="needs bubblewrap")
CALLED = ("01_layouts", "02_layout_algebra", "03_swizzles")
ALGEBRA = "tensor_layouts.layouts.algebra"

# Exercise → the kind of evasion, and the answer's cell. Each of them has points where the sandbox holds the library.
EVASIONS = {
    "02.1": (
        "a thread that is older than the judgement",
        """
        import queue, threading
        asked, given = queue.Queue(), queue.Queue()

        def work():
            while True:
                try:
                    given.put(tl.coalesce(asked.get()))
                except Exception as error:
                    given.put(error)

        threading.Thread(target=work, daemon=True).start()

        def coalesce(layout):
            asked.put(layout)
            return given.get()
        """,
    ),
    "02.2": (
        "a copy of the function's code",
        """
        from types import FunctionType
        code = tl.compose.__code__.replace(co_name="again", co_filename="mine")
        again = FunctionType(code, dict(tl.compose.__globals__), "again", tl.compose.__defaults__)

        def compose(a, b):
            return again(a, b)
        """,
    ),
    "02.3": (
        "the oracle's thread",
        """
        import concurrent.futures
        pool = concurrent.futures.ThreadPoolExecutor(1)
        pool.submit(ask, [("cosize", Layout(4, 1))]).result()

        def transposing(rows, columns):
            question = ("composition", Layout(rows * columns, 1), Layout((columns, rows), (rows, 1)))
            return pool.submit(ask, [question]).result()[0]
        """,
    ),
    "02.4": (
        "the text of its module",
        """
        import sys
        from pathlib import Path
        module = sys.modules["tensor_layouts.layouts.algebra"]
        names = {"__name__": "tensor_layouts.layouts.mine", "__package__": "tensor_layouts.layouts"}
        exec(Path(module.__file__).read_text().replace("complement", "mine"), names)

        def complement(layout, bound):
            return names["mine"](layout, bound)
        """,
    ),
    "02.5": (
        "its bytecode",
        """
        import marshal, sys
        from importlib.util import cache_from_source
        from pathlib import Path
        file = sys.modules["tensor_layouts.layouts.algebra"].__file__
        compiled = Path(cache_from_source(file))
        names = {"__name__": "tensor_layouts.layouts.mine", "__package__": "tensor_layouts.layouts"}
        exec(marshal.loads(compiled.read_bytes()[16:]), names)
        code = names["logical_divide"].__code__
        code = code.replace(co_name="mine")
        names["logical_divide"].__code__ = code

        def logical_divide(layout, tile):
            return names["logical_divide"](layout, tile)
        """,
    ),
    "02.6": (
        "a child process",
        """
        import subprocess, sys

        def zipped_divide(layout, tiler):
            tiler = tuple(Layout(tile, 1) for tile in tiler)
            asked = f"from tensor_layouts import *; print(repr(zipped_divide({layout!r}, {tiler!r})))"
            return eval(subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True).stdout)
        """,
    ),
    "02.7": (
        "the oracle in a child process",
        """
        import subprocess, sys
        WORK = (
            "from tensor_layouts import *\\n"
            "from tutorlib.layouts.oracle import ask\\n"
            "while True: print(repr(ask([('zipped_divide', *eval(input()))])[0]), flush=True)"
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        child = subprocess.Popen([sys.executable, "-c", WORK], **pipes)

        def block_tile(layout, tile, block):
            print((layout, tile), file=child.stdin, flush=True)
            tiles = eval(child.stdout.readline())
            return tiles(((0, 0), block)), mode(tiles, 0)
        """,
    ),
    "02.8": (
        "a process that was forked before",
        """
        import multiprocessing
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()

        def work():
            while True:
                try:
                    theirs.send(tl.logical_product(*theirs.recv()))
                except Exception:
                    theirs.send(None)

        context.Process(target=work, daemon=True).start()

        def logical_product(block, grid):
            ours.send((block, grid))
            return ours.recv()
        """,
    ),
    "02.9": (
        "the package from another folder",
        """
        import importlib, shutil, sys, tempfile
        from pathlib import Path
        folder = tempfile.mkdtemp()
        shutil.copytree(Path(tl.__file__).parent, Path(folder, "mine"))
        algebra = Path(folder, "mine", "layouts", "algebra.py")
        algebra.write_text(algebra.read_text().replace("blocked_product", "another"))
        sys.path.insert(0, folder)
        import mine.layouts.algebra as mine

        def blocked_product(block, grid):
            made = mine.another(mine.Layout(block.shape, block.stride), mine.Layout(grid.shape, grid.stride))
            return Layout(made.shape, made.stride)
        """,
    ),
    "02.10": (
        "torch's own algebra",
        """
        from torch.distributed import _pycute

        def right_inverse(layout):
            made = _pycute.right_inverse(_pycute.Layout(layout.shape, layout.stride))
            return tl.coalesce(Layout(made.shape, made.stride))
        """,
    ),
    "02.11": (
        "CuTe, traced on the CPU",
        """
        def common_vector(a, b):
            import cutlass
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
    "02.12": (
        "a default, a closure and a pickle",
        """
        import pickle
        from tutorlib.layouts import tiled_copy
        kept = pickle.dumps(tiled_copy.TiledCopyView)

        def layout_tv(threads, values, view=tiled_copy.TiledCopyView):
            return pickle.loads(kept)(threads, values, None).layout
        """,
    ),
    "01.1": (
        "a layout in an older thread",
        """
        import concurrent.futures
        pool = concurrent.futures.ThreadPoolExecutor(1)
        pool.submit(Layout(4, 1), 2).result()

        def offset(coord, stride):
            return pool.submit(Layout(tuple(99 for _ in coord), stride), *coord).result()
        """,
    ),
    "01.3": (
        "a generator that began before",
        """
        from types import FunctionType
        code = idx2crd.__code__.replace(co_name="mine")
        again = FunctionType(code, {**idx2crd.__globals__, "idx2crd": None}, "mine", idx2crd.__defaults__)
        again.__globals__["idx2crd"] = again

        def answers():
            index, shape = yield
            while True:
                index, shape = yield again(index, shape)

        begun = answers()
        next(begun)

        def coordinate(index, shape):
            return begun.send((index, shape))
        """,
    ),
    "01.5": (
        "a copy of a method's code",
        """
        from types import FunctionType
        code = Layout.__call__.__code__.replace(co_name="mine")
        again = FunctionType(code, {**Layout.__call__.__globals__, "__name__": "tensor_layouts.mine"})

        def offset_at(index, shape, stride):
            return again(Layout(shape, stride), index)
        """,
    ),
    "01.7": (
        "a child process",
        """
        import os

        def cosize_of(shape, stride):
            read, write = os.pipe()
            if not os.fork():
                try:
                    os.write(write, str(cosize(Layout(shape, stride))).encode())
                finally:
                    os._exit(0)
            os.close(write)
            return int(os.read(read, 99))
        """,
    ),
    "01.9": (
        "a tensor's slices, in a thread",
        """
        import concurrent.futures
        pool = concurrent.futures.ThreadPoolExecutor(1)
        pool.submit(size, 2).result()

        def sliced(layout, coord):
            free = pool.submit(Tensor(layout).__getitem__, coord).result()
            return free.offset, free.layout
        """,
    ),
    "03.1": (
        "copied code",
        """
        from types import FunctionType
        names = dict(vars(banks))
        for name in ("ways", "wavefronts"):
            code = getattr(banks, name).__code__.replace(co_filename="mine", co_firstlineno=1)
            names[name] = FunctionType(code, names, name, getattr(banks, name).__defaults__)

        def wavefronts(addresses, width):
            return names["wavefronts"](addresses, 1, width)
        """,
    ),
    "03.3": (
        "an older thread",
        """
        import concurrent.futures
        pool = concurrent.futures.ThreadPoolExecutor(1)
        pool.submit(print).result()

        def swizzle(b, m, s, offset):
            return pool.submit(Swizzle(b, m, s), offset).result()
        """,
    ),
    "03.5": (
        "the class's own method, kept before",
        """
        import copy
        from types import FunctionType
        code = Swizzle.__call__.__code__.replace(co_name="mine")
        S = FunctionType(code, dict(Swizzle.__call__.__globals__))
        inner, outer = tile.inner, copy.copy(tile.outer)

        def tile_offset(row, column):
            return S(outer, inner(row, column))
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
def evasions(tmp_path_factory) -> dict[str, dict]:
    outcomes: dict[str, dict] = {}
    for page in ("01", "02", "03"):
        answers = {id: text for id, (_, text) in EVASIONS.items() if id.startswith(page)}
        outcomes |= graded(tmp_path_factory.mktemp(page), answers)
    return outcomes


@needs_bubblewrap
@pytest.mark.parametrize("id", [pytest.param(id, id=f"{id}: {kind}") for id, (kind, _) in EVASIONS.items()])
def test_a_forbidden_function_gives_no_points_by_any_way(evasions, id):
    outcome = evasions[id]
    assert outcome["points"] == 0, outcome
    if id not in ("02.4", "02.9", "02.10", "02.11"):  # their copies do not work at all
        assert "which does what you are asked to write" in outcome["message"]


@needs_bubblewrap
def test_torch_imports_on_the_page_whose_algebra_it_has_too(evasions):
    assert "right_inverse is not on this page" in evasions["02.10"]["message"]


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
        print(tl.logical_divide(Layout(24, 3), Layout(4, 1)), ask([("cosize", Layout(4, 2))]))

        def logical_divide(layout, tile):
            try:
                tl.compose(Layout((4, 6), (1, 10)), Layout(5, 3))
            except tl.LayoutError:
                return tl.compose(layout, Layout(tile, tl.complement(tile, size(layout))))
        """,
}


@needs_bubblewrap
def test_what_an_exercise_does_not_forbid_works_and_so_does_all_of_it_outside_of_judgement(tmp_path):
    outcomes = graded(tmp_path, HONEST)
    assert {id: outcomes[id]["status"] for id in HONEST} == dict.fromkeys(HONEST, "passed"), outcomes


# Without a sandbox ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("notebook", CALLED)
def test_every_python_function_that_a_page_forbids_is_served(notebook):
    for exercise in of_notebook(notebook):
        for told in as_told(exercise.library):
            if told[1] == "function" and told[2] != "numpy" and told[3] not in library_process.LOCAL:
                assert library_process.served_key(told) in library_process.served(notebook), (exercise.id, told)


@pytest.mark.parametrize("notebook", CALLED)
def test_copies_hold_a_stub_of_every_served_function_and_their_bytecode_the_same(notebook):
    stubs = {
        line.split("'")[1]
        for path, content in library_copies.copies(notebook).items()
        if path.suffix == ".py"
        for line in content.decode().splitlines()
        if line.strip().startswith("return ask_library('")
    }
    assert stubs == library_process.served(notebook).keys()
    for path in [*library_copies.copies(notebook)]:
        kept = (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc")
        assert path.suffix == ".pyc" or library_copies.copies(notebook).keys() >= {*kept}


@pytest.mark.parametrize("notebook", CALLED)
def test_what_is_kept_of_the_algebra_misses_no_name(notebook):
    (content,) = {
        content
        for path, content in library_copies.copies(notebook).items()
        if path.parts[-3:] == ("tensor_layouts", "layouts", "algebra.py")
    }
    tree = ast.parse(content)
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    set_there = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    set_there |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    set_there |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.alias)}
    assert read <= set_there | vars(builtins).keys() | vars(tl.layouts.core).keys() | vars(tl.layouts.expr).keys()


@pytest.fixture
def process(tmp_path, monkeypatch):
    monkeypatch.setenv(LIBRARY, str(tmp_path / "library.sock"))
    process = library_process.LibraryProcess(tmp_path / "library.sock", "02_layout_algebra", 1.0)
    yield process
    process.process.kill()


def coalesced() -> Layout:
    return ask_library(f"{ALGEBRA}:coalesce", (Layout((4, 8), (1, 4)),), {})


def test_a_function_is_refused_while_its_exercise_is_judged_whoever_asks(process):
    assert coalesced() == Layout(32, 1)
    refused: list[str] = []
    raised: list[Exception] = []

    def in_a_thread() -> None:
        try:
            coalesced()
        except WrongKind as error:
            raised.append(error)

    with process.forbidding(find("02.1"), refused):
        with pytest.raises(WrongKind, match=r"it calls tl\.coalesce"):
            coalesced()
        thread = threading.Thread(target=in_a_thread)
        thread.start()
        thread.join()
        if not (child := os.fork()):
            try:
                coalesced()
            except WrongKind:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert ask_library(f"{ALGEBRA}:cosize", (Layout(4, 2),), {}) == 7
    assert (refused, len(raised)) == (["tl.coalesce"] * 3, 1)
    assert coalesced() == Layout(32, 1)


def test_errors_are_those_of_the_library(process):
    with pytest.raises(LayoutError):
        ask_library(f"{ALGEBRA}:compose", (Layout((4, 6), (1, 10)), Layout(5, 3)), {})
    with pytest.raises(KeyError):
        ask_library("os:system", ("true",), {})


def test_a_call_has_a_time_limit_and_a_process_that_crashed_is_replaced(process):
    long = Layout((2,) * 40, (1,) * 40)
    with pytest.raises(TimeoutError):
        ask_library(f"{ALGEBRA}:cosize", (tl.ComposedLayout(tl.Swizzle(3, 3, 3), long),), {})
    assert coalesced() == Layout(32, 1)
    process.process.kill()
    process.process.join()
    refused: list[str] = []
    with process.forbidding(find("02.2"), refused):
        assert coalesced() == Layout(32, 1)
    assert not refused


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
