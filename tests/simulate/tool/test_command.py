"""`tutor simulate`: arguments, formats, exit statuses, and one line for each wrong input."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tests.simulate.ptx.snippets import DOUBLE, UNGUARDED, kernel
from tests.simulate.tool import kernels, tiles
from tutorlib.cli import app
from tutorlib.simulate import target
from tutorlib.simulate.command import parse_arch
from tutorlib.simulate.target import DTYPES, parse_argument, parse_sizes
from tutorlib.simulate.tensors import is_poison

KERNELS, TILES = kernels.__file__, tiles.__file__
REVERSE = (f"{KERNELS}::reverse", "--arg", "128:fp32", "--arg", "128:fp32:out", "--arg", "64")
RACE = (f"{KERNELS}::Reverse(64, False)", "--arg", "128:fp32", "--arg", "128:fp32:out")
TWO_PAIRS = ("--arg", "256:fp32", "--arg", "256:fp32")
GRID = ("--grid", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "doubled.ptx").write_text(DOUBLE)
    (tmp_path / "unguarded.ptx").write_text(UNGUARDED)
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "template.ptx").write_text(".version 8.0\n.target sm_80\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch, request):
    """A process of its own takes seconds; a test with `alone` in its name has one. What tests import is forgotten."""
    if "alone" not in request.node.name:
        monkeypatch.setattr(target, "simulate_alone", target.simulate_target)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield
    for name in {name for name in sys.modules if name.startswith("package")} - before:
        del sys.modules[name]


def tutor(*words):
    return CliRunner().invoke(app, ["simulate", *words])


def of_ptx(file="doubled.ptx", length=40, *more):
    out = f"{length}:fp32:out"
    return tutor(file, "--arg", f"{length}:fp32", "--arg", out, "--arg", str(length), *GRID, *more)


# exit statuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        REVERSE,
        (*REVERSE, "--arch", "90a"),
        (f"{KERNELS}::reverse_here", "--arg", "128:fp32"),
        (f"{KERNELS}::with_a_descriptor", "--arg", "128:fp32", "--arg", "128:fp32:out", "--arch", "90a"),
        (f"{TILES}::both", *TWO_PAIRS),
        (f"{TILES}::add", *TWO_PAIRS, "--arg", "256:fp32:out", "--arg", "0", "--grid", "2"),
    ],
)
def test_a_clean_run_ends_with_0(words):
    done = tutor(*words)
    assert (done.exit_code, done.stderr) == (0, "")
    assert ": 1 launch, no finding" in done.stdout or ": 2 launches, no finding" in done.stdout


@pytest.mark.parametrize("way", ["neighbor", "package.neighbor", ".neighbor"])
def test_a_file_of_a_package_imports_its_neighbors(folder, way):
    (folder / "package").mkdir()
    (folder / "package/__init__.py").write_text("")
    (folder / "package/neighbor.py").write_text(Path(KERNELS).read_text())
    name = f"kernels_{way.count('.')}_{len(way)}"
    (folder / f"package/{name}.py").write_text(f"from {way} import reverse as host\n")
    done = tutor(f"package/{name}.py::host", "--arg", "128:fp32", "--arg", "128:fp32:out", "--arg", "64")
    assert (done.exit_code, done.stderr) == (0, "")


def test_a_finding_ends_with_1_and_stands_in_the_text():
    done = tutor(*RACE)
    assert done.exit_code == 1
    assert "✗ race: thread 0 of block 0 reads what thread 63 wrote at line " in done.stdout
    assert f"{KERNELS}:" in done.stdout


def test_an_unwritten_output_ends_with_1():
    done = of_ptx("doubled.ptx", 70)
    assert done.exit_code == 1
    assert "1 launch, 1 finding" in done.stdout
    assert "✗ unwritten: 6 of 70 elements of argument 1 are never written" in done.stdout


def test_a_source_needs_neither_torch_nor_a_dsl(folder):
    """Whose imports take seconds."""
    words = ("doubled.ptx", *VECTOR, "--arg", "64:fp32:out", "--arg", "64", *GRID)
    command = [sys.executable, "-X", "importtime", "-m", "tutorlib", "simulate", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tutorlib.simulate.ptx.simulation" in imported
    assert not imported & {"torch", "cutlass", "cuda", "cuda.tile", "matplotlib", "pandas"}


def test_sarif_and_a_baseline_that_is_none():
    said = json.loads(of_ptx("unguarded.ptx", 40, "--format", "sarif").stdout)
    assert [result["ruleId"] for result in said["runs"][0]["results"]] == ["outside"] * 2
    Path("none.json").write_text("{}")
    done = of_ptx("doubled.ptx", 40, "--baseline", "none.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no report that --format json wrote" in done.stderr


# wrong input ----------------------------------------------------------------------------------------------------

VECTOR = ("--arg", "64:fp32")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing.py",), "nothing.py: there is no such file"),
        (("kernel.txt",), "kernel.txt is no kernel's file: name FILE.py::HOST, FILE.ptx or FILE.cu"),
        (("broken.py::host",), "broken.py cannot be imported: ModuleNotFoundError: No module named 'nothing_of"),
        (("empty.py",), "empty.py: name a kernel, as in empty.py::HOST; it has no functions"),
        ((KERNELS,), f"name a kernel, as in {KERNELS}::HOST; it has reverse_kernel, reverse, with_a"),
        (
            (f"{KERNELS}::revers",),
            "name 'revers' is not defined; it has reverse_kernel, reverse, with_a_descriptor, crashes",
        ),
        ((f"{KERNELS}::Reverse(64)",), "Reverse(64) raises TypeError: Reverse.__init__() missing 1 required"),
        ((f"{KERNELS}::Reverse((",), "Reverse(( raises SyntaxError: "),
        ((f"{KERNELS}::reverse_kernel", *VECTOR), "simulate the @cute.jit function that launches it"),
        ((f"{KERNELS}::reverse", *VECTOR), "Required argument `dst` is missing"),
        ((f"{KERNELS}::launches_nothing", *VECTOR), "launches_nothing launches no kernel"),
        ((f"{KERNELS}::reverse", *VECTOR, *VECTOR, "--arg", "2000"), "a block of 2,000 threads"),
        ((f"{KERNELS}::reverse", *VECTOR, "--arg", "3", "--arg", "64"), "argument #2"),
        ((f"{TILES}::add", *VECTOR), "a grid has one to three sizes, not 0"),
        ((f"{TILES}::add", *VECTOR, *VECTOR, *VECTOR, "--arg", "1.5", *GRID), "add fails for sm_80: line "),
        ((f"{TILES}::launches_nothing", *VECTOR), "launches_nothing launches no kernel"),
        (("doubled.ptx", *VECTOR), "a kernel of PTX or CUDA C++ needs a grid"),
        (("doubled.ptx", *VECTOR, *GRID), "doubled takes 3 parameters, not 1"),
        (("doubled.ptx::tripled", *VECTOR, *GRID), "name one of doubled"),
        (("template.ptx", *GRID), "the module has 0 kernels: name an instance, such as scale<float, 4>"),
        (("doubled.ptx", "--grid", "two"), "--grid two: one to three sizes, as --grid 8x4"),
        (("doubled.ptx", "--block", "1x2x3x4"), "--block 1x2x3x4: one to three sizes"),
        (("doubled.ptx", "--arch", "hopper"), "--arch hopper: a compute capability is 80 (Ampere), 90a (Hopper)"),
        (("doubled.ptx", "--arg", "64:float33"), "--arg 64:float33: there are the dtypes fp64, fp32"),
        (("doubled.ptx", "--arg", "64:fp32:in"), "and the marks out, zeros, col"),
        (("doubled.ptx", "--arg", "64x"), "--arg 64x: --arg 128x64:bf16 is a random tensor, "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words, says):
    done = tutor(*words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert says in done.stderr


def test_a_host_that_crashes_is_alone():
    done = tutor(f"{KERNELS}::crashes", *VECTOR)
    assert (done.exit_code, done.stderr.strip()) == (2, f"{KERNELS}::crashes crashes while it is simulated")


def test_a_right_kernel_alone():
    done = tutor(*REVERSE)
    assert (done.exit_code, done.stderr) == (0, "")


def test_what_the_simulator_lacks_is_said():
    Path("breaks.ptx").write_text(DOUBLE.replace("add.f32", "brkpt;\n    add.f32"))
    done = of_ptx("breaks.ptx")
    assert done.exit_code == 2
    assert "brkpt is not simulated (line " in done.stderr


RACES = """mov.u32 %r1, smem;
shl.b32 %r2, %tid_x, 2;
add.u32 %r3, %r1, %r2;
st.shared.b32 [%r3], %r2;
xor.b32 %r4, %r3, 4;
ld.shared.b32 %r5, [%r4];
setp.ge.u32 %p1, %r5, BOUND;
@%p1 brkpt;"""


@pytest.mark.parametrize("stops", [True, False])
def test_what_was_found_before_it_is_told_too(stops):
    """An instruction that the simulator lacks does no harm where no thread reaches it."""
    Path("races.ptx").write_text(kernel(RACES.replace("BOUND", "4" if stops else "4096"), shared=128))
    done = tutor("races.ptx", "--block", "32", "--grid", "1")
    assert done.exit_code == 1
    assert "1 finding\n" in done.stdout
    assert "✗ race: thread 0 of block 0 reads what thread 1 wrote" in done.stdout
    assert stops == ("kernel: not simulated to its end: brkpt is not simulated (line " in done.stdout)
    assert stops == ("✗ 1 launch could not be simulated" in done.stdout)


def parsed(text, seed=0):
    return parse_argument(text, np.random.default_rng(seed))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_of_every_dtype(dtype):
    value = torch.as_tensor(parsed(f"4x6:{dtype}"))
    assert (value.shape, value.stride()) == ((4, 6), (6, 1))
    assert str(value.dtype) == f"torch.{DTYPES[dtype]}"
    assert value.double().unique().numel() > 1
    assert not is_poison(value).all()


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
def test_an_output_knows_what_was_not_written(dtype):
    value = parsed(f"4x6:{dtype}:out")
    value[0] = 1
    assert is_poison(value).sum() == 18
    assert not is_poison(value)[0].any()


def test_a_tensor_begins_where_cudas_allocations_do():
    """Else its rows lie in more sectors than on a GPU."""
    assert {parsed(f"{n}:fp32").ctypes.data % 256 for n in range(1, 40)} == {0}


def test_marks():
    assert torch.as_tensor(parsed("4x6:fp32:col")).stride() == (1, 4)
    assert torch.as_tensor(parsed("4x6:bf16:out:col")).stride() == (1, 4)
    assert not parsed("4x6:fp32:zeros").any()


@pytest.mark.parametrize(("text", "value"), [("128", 128), ("0.5", 0.5), ("True", True), ("(1, 2)", (1, 2))])
def test_anything_else_is_a_literal(text, value):
    assert parsed(text) == value


def test_a_seed_gives_the_same_numbers():
    assert torch.equal(parsed("8:bf16", 3), parsed("8:bf16", 3))


def test_sizes_and_capabilities():
    assert parse_sizes("--grid", "8x4") == (8, 4)
    assert parse_sizes("--grid", "") == ()
    assert parse_arch("sm_90a") == parse_arch("90a") == "90a"
