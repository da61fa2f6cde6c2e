"""`tutor simulate`: arguments, formats, exit statuses, and one line for each wrong input."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tests.simulate.ptx.snippets import DOUBLE, UNGUARDED
from tests.simulate.tool import kernels, tiles
from tutorlib.cli import app
from tutorlib.simulate import simulate
from tutorlib.simulate.command import DTYPES, parse_arch, parse_argument, parse_sizes
from tutorlib.simulate.tensors import is_poison

KERNELS, TILES = kernels.__file__, tiles.__file__
REVERSE = (f"{KERNELS}::reverse", "--arg", "128:fp32", "--arg", "128:fp32:out", "--arg", "64")
RACE = (f"{KERNELS}::Reverse(64, False)", "--arg", "128:fp32", "--arg", "128:fp32:out")
VECTOR_32 = ("--arg", "32:fp32")
TWO_PAIRS = ("--arg", "256:fp32", "--arg", "256:fp32")
GRID = ("--grid", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "doubled.ptx").write_text(DOUBLE)
    (tmp_path / "unguarded.ptx").write_text(UNGUARDED)
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "empty.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


CPP = """
#include <cooperative_groups.h>

namespace ours {
template <typename T, int N>
__global__ void scale(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x] * N; }
}
__constant__ float factor = 2.5f;
__device__ double offsets[2] = {-1.5, 0.25};
__constant__ struct { float a; int b; } both = {0.5f, -3};
__global__ void constants(const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x] * factor + offsets[threadIdx.x % 2] + both.a + both.b;
}
__global__ void synced(const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x];
    cooperative_groups::this_grid().sync();
}
"""


def of_cpp(kernel, *more):
    Path("kernels.cu").write_text(CPP)
    return tutor(f"kernels.cu::{kernel}", "--grid", "1", "--block", "32", *VECTOR_32, "--arg", "32:fp32:out", *more)


@pytest.mark.parametrize("kernel", ["ours::scale<float, 3>", "constants"])
def test_cpp_by_its_names(kernel):
    done = of_cpp(kernel)
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"\n{kernel}: 1 block, " in done.stdout
    past = of_cpp(kernel, "--block", "64")
    assert "loads x[32], which lies outside x of shape (32,)" in past.stdout


def test_constants_and_instances_of_templates_have_their_values():
    x, y, z = torch.randn(32), torch.zeros(32), torch.zeros(32)
    simulate(CPP, x, y, grid=(1,), block=(32,), entry="constants")
    torch.testing.assert_close(y, x * 2.5 + torch.tensor([-1.5, 0.25]).repeat(16) - 2.5)
    simulate(CPP, x, z, grid=(1,), block=(32,), entry="ours::scale<float, 3>")
    assert torch.equal(z, 3 * x)


REGISTERS = """
import cutlass
from cutlass import cute

@cute.kernel
def kernel(x: cute.Tensor):
    cute.arch.warpgroup_reg_dealloc(40)
    x[0] = 1.0

@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(128, 1, 1))

if __name__ == "__main__":
    import torch
    from cutlass.cute.runtime import from_dlpack

    host(from_dlpack(torch.zeros(1, device="cuda")))
"""


@pytest.mark.parametrize("words", [("registers.py::host", *VECTOR_32), ("--", "python", "registers.py")])
def test_the_letter_that_an_architecture_lacks_is_named(words):
    Path("registers.py").write_text(REGISTERS)
    done = tutor("--arch", "90", *words)
    assert done.exit_code == 2
    assert "(--arch 90a has more instructions)" in done.stderr
    assert tutor("--arch", "90a", *words).exit_code == 0


def test_a_barrier_of_the_grid_is_named():
    done = of_cpp("synced")
    assert done.exit_code == 2
    assert "kernels.cu::synced: grid.sync(), the barrier of all blocks of a cooperative launch, is not" in done.stderr


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
    assert "✗ argument 1: 6 of 70 elements are never written" in done.stdout


def test_a_source_needs_neither_torch_nor_a_dsl(folder):
    """Whose imports take seconds."""
    words = ("doubled.ptx", *VECTOR, "--arg", "64:fp32:out", "--arg", "64", *GRID)
    command = [sys.executable, "-X", "importtime", "-m", "tutorlib", "simulate", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tutorlib.simulate.ptx.simulation" in imported
    assert not imported & {"torch", "cutlass", "cuda", "cuda.tile", "matplotlib", "pandas"}


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
        ((f"{KERNELS}::reverse", *VECTOR), "reverse takes src, dst, threads: missing a required argument"),
        ((f"{KERNELS}::launches_nothing", *VECTOR), "launches_nothing launches no kernel"),
        ((f"{KERNELS}::crashes", *VECTOR), "crashes crashes while it is simulated"),
        ((f"{KERNELS}::reverse", *VECTOR, *VECTOR, "--arg", "2000"), "a block of 2,000 threads"),
        ((f"{KERNELS}::reverse", *VECTOR, "--arg", "3", "--arg", "64"), "does not compile for sm_80: "),
        ((f"{TILES}::add", *VECTOR), "add is a kernel: it needs a grid"),
        ((f"{TILES}::add", *VECTOR, *VECTOR, *VECTOR, "--arg", "1.5", *GRID), "does not compile for sm_80: line "),
        ((f"{TILES}::launches_nothing", *VECTOR), "launches_nothing launches no kernel"),
        (("doubled.ptx", *VECTOR), "a kernel of PTX or CUDA C++ needs a grid"),
        (("doubled.ptx", *VECTOR, *GRID), "doubled takes 3 parameters, not 1"),
        (("doubled.ptx::tripled", *VECTOR, *GRID), "name one of doubled"),
        (("doubled.ptx", "--grid", "two"), "--grid two: one to three sizes, as --grid 8x4"),
        (("doubled.ptx", "--block", "1x2x3x4"), "--block 1x2x3x4: one to three sizes"),
        (("doubled.ptx", "--arch", "hopper"), "--arch hopper: a compute capability is 80 (Ampere), 90a (Hopper)"),
        (("doubled.ptx", "--arg", "64:float33"), "--arg 64:float33: there is no dtype float33; there are fp64, fp32"),
        (("doubled.ptx", "--arg", "64:fp32:in"), "--arg 64:fp32:in: there is no mark in; there are out, zeros, col"),
        (("doubled.ptx", "--arg", "64x"), "--arg 64x: --arg 128x64:bf16 is a random tensor, "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words, says):
    done = tutor(*words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert says in done.stderr


def test_what_the_simulator_lacks_is_said():
    Path("breaks.ptx").write_text(DOUBLE.replace("add.f32", "brkpt;\n    add.f32"))
    done = of_ptx("breaks.ptx")
    assert done.exit_code == 2
    assert "brkpt is not simulated (line " in done.stderr


def parsed(text, seed=0):
    return parse_argument(text, np.random.default_rng(seed))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_of_every_dtype(dtype):
    given, value = parsed(f"4x6:{dtype}"), parsed(f"4x6:{dtype}").for_torch
    assert value.shape == (4, 6)
    assert value.stride() == (6, 1)
    assert str(value.dtype) == f"torch.{DTYPES[dtype]}"
    assert not given.is_output
    assert value.double().unique().numel() > 1


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
def test_an_output_knows_what_was_not_written(dtype):
    given = parsed(f"4x6:{dtype}:out")
    assert given.is_output
    given.value[0] = 1
    assert is_poison(given.value).sum() == 18
    assert not is_poison(given.value)[0].any()


def test_marks():
    assert parsed("4x6:fp32:col").for_torch.stride() == (1, 4)
    assert parsed("4x6:bf16:out:col").for_torch.stride() == (1, 4)
    assert not parsed("4x6:fp32:zeros").value.any()


@pytest.mark.parametrize(("text", "value"), [("128", 128), ("0.5", 0.5), ("True", True), ("(1, 2)", (1, 2))])
def test_anything_else_is_a_literal(text, value):
    assert parsed(text).value == value


def test_a_seed_gives_the_same_numbers():
    assert torch.equal(parsed("8:bf16", 3).value, parsed("8:bf16", 3).value)


def test_sizes_and_capabilities():
    assert parse_sizes("--grid", "8x4") == (8, 4)
    assert parse_sizes("--grid", "") == ()
    assert parse_arch("sm_90a") == parse_arch("90a") == "90a"
