"""Where nvcc finds headers of its own version: environments have others, torch's CUDA build older ones."""

from importlib import metadata
from pathlib import Path

import pytest

from tutorlib.compiling import programs
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.errors import CompileFailed, ToolMissing

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


def test_headers_from_beside_come_first(tmp_path, monkeypatch, beside):
    """nvcc's own environment has some, too; these have an error of their own."""
    beside.mkdir(parents=True)
    (beside / "cuda_tile.h").write_text("#error from beside\n")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache")
    compile_cpp.cache_clear()
    with pytest.raises(CompileFailed, match="from beside"):
        compile_cpp(CLEAR)
