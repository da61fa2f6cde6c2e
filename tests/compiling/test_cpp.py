"""Tile C++ and nvcc: what is compiled, what is kept, and where nvcc finds its headers."""

import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from tests.pages.p09 import ADD, FIRST
from tutorlib.checking.cpp import wrong_parameters
from tutorlib.compiling import programs
from tutorlib.compiling.cpp import Remark, compile_cpp, failure, read_remarks
from tutorlib.compiling.errors import CompileFailed, ToolMissing


def test_the_remarks_stand_at_the_readers_lines():
    compiled = compile_cpp("\n\n    " + FIRST.strip().replace("\n", "\n    ") + "\n")
    loads = next(n for n, line in enumerate(compiled.source.split("\n"), 1) if "A.load" in line)
    at_load = [remark.text for remark in compiled.remarks if remark.line == loads]
    assert at_load == [
        "Failed to select TMA load instruction: base pointer not 16-byte aligned",
        "Global-memory load instruction",
    ]
    assert f"{loads:3}  auto x = A.load_masked(i, step);\n       → Failed" in compiled.remarked


def test_remarks_are_read_once_each():
    said = """
      category: Tensor-core
        remark[passed]: MMA operation successfully optimized to use Tensor Cores
          --> "/tmp/kernel.cu":16:11
           = name: RemarkTensorCoreMMA
           = note: Instruction = Tensor-core SM90
           = note: Shape = [64, 128, 16]
        remark[failed]: Failed to select TMA load instruction
          --> "/tmp/kernel.cu":14:14
           = reason: loc("/tmp/kernel.cu":14:14): stride not 16-byte aligned
    """
    assert read_remarks(said + said) == (
        Remark(14, "Failed to select TMA load instruction: stride not 16-byte aligned"),
        Remark(16, "Tensor-core SM90 64×128×16"),
    )


def test_parameters():
    assert compile_cpp(ADD).parameters == ("ptr", "ptr", "ptr", "u32")
    assert wrong_parameters(compile_cpp(ADD), 3, 1) is None
    assert "should be pointer, pointer, integer; yours are pointer, pointer, pointer, integer" in wrong_parameters(
        compile_cpp(ADD), 2, 1
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("A.load_masked", "A.laod", 6, 'has no member "laod"'),
        ("1024_ic", "1000_ic", 2, "ct::extents<1000>)"),
        ("B.load_masked(i)", "ct::zeros<ct::tile<float, ct::shape<8>>>()", 6, "no operator"),
    ],
)
def test_an_error_is_told_at_the_readers_line(old, new, line, says):
    with pytest.raises(CompileFailed) as caught:
        compile_cpp(ADD.replace(old, new))
    assert caught.value.line == line
    assert ADD.replace(old, new).strip().split("\n")[line - 1].strip() in str(caught.value)
    advice, original = caught.value.lines
    assert advice == str(caught.value)
    assert says in original
    assert "__1" not in original


def test_an_error_in_a_header_is_told_at_the_line_that_caused_it():
    said = (
        "cuda_tile.h(2922): error: static assertion failed\n  detected during instantiation of x at line 2 of kernel.cu"
    )
    told = failure(said, "one\n  two\nthree")
    assert (told.line, str(told)) == (2, "line 2, `two`: nvcc refuses this line: static assertion failed")


@pytest.mark.parametrize(
    ("source", "count"), [("", 0), ("__global__ void f() {}", 0), (ADD + ADD.replace("_add", ""), 2)]
)
def test_a_source_has_one_kernel(source, count):
    with pytest.raises(CompileFailed, match=f"has {count} __tile_global__ functions"):
        compile_cpp(source)


def test_a_source_is_compiled_once(nothing_kept, monkeypatch):
    first = compile_cpp(ADD)
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: pytest.fail("compiled again"))
    assert compile_cpp(ADD) == first
    assert compile_cpp(ADD).remarks == first.remarks
    with pytest.raises(pytest.fail.Exception):
        compile_cpp(ADD.replace("1024", "2048"))


CLEAR = """
__tile_global__ void clear(float* x, int n) {
    auto X = ct::partition_view{ct::tensor_span{x, ct::extents{n}}, ct::shape{256_ic}};
    X.store_masked(ct::zeros<ct::tile<float, ct::shape<256>>>(), ct::bid().x);
}"""


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """Where nvcc's headers are put, in an environment that has others; it is not there yet."""
    folder = tmp_path / "headers" / "nvidia" / "cu13" / "include"
    monkeypatch.setattr(programs, "headers_fit", lambda: False)
    monkeypatch.setattr(programs, "BESIDE", folder)
    return folder


@pytest.fixture
def asked_of_pip(monkeypatch):
    asked = []
    monkeypatch.setattr(programs.subprocess, "run", lambda command, check: asked.append(command))
    return asked


@pytest.mark.parametrize(("headers", "fit"), [("13.4.92", True), ("13.0.96", False), ("13.5.37", False), (None, False)])
def test_only_headers_of_its_own_version_fit(monkeypatch, asked_of_pip, headers, fit):
    def version(name):
        if name == programs.HEADERS and headers is None:
            raise metadata.PackageNotFoundError(name)
        return headers if name == programs.HEADERS else "13.4.92"

    monkeypatch.setattr(programs.metadata, "version", version)
    monkeypatch.setattr(programs, "BESIDE", Path("no", "such", "folder", "here"))
    assert programs.headers_fit() == fit
    programs.add_headers()
    assert len(asked_of_pip) == (not fit)


def test_others_are_said_before_nvcc_stumbles(beside):
    with pytest.raises(ToolMissing, match=r"headers of its own version: .* -m tutorlib\.compiling\.programs$"):
        programs.nvcc_command()


def test_headers_of_nvccs_version_are_put_beside_others_once(beside, asked_of_pip):
    programs.add_headers()
    ((*_, folder, wanted),) = asked_of_pip
    assert Path(folder) == beside.parents[2]
    assert wanted == f"nvidia-cuda-runtime=={metadata.version('nvidia-cuda-nvcc')}"
    beside.mkdir(parents=True)
    programs.add_headers()
    assert len(asked_of_pip) == 1


def test_headers_from_beside_come_first(nothing_kept, beside):
    """nvcc's own environment has some, too; these have an error of their own."""
    beside.mkdir(parents=True)
    (beside / "cuda_tile.h").write_text("#error from beside\n")
    with pytest.raises(CompileFailed, match="from beside"):
        compile_cpp(CLEAR)
