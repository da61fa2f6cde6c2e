"""Where nvcc finds headers of its own version: torch's CUDA build keeps an environment's at an older one."""

from importlib import metadata
from pathlib import Path

import pytest

from tutorlib.compiling import nvcc
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.errors import CompileFailed, ToolMissing

CLEAR = """
__tile_global__ void clear(float* x, int n) {
    auto X = ct::partition_view{ct::tensor_span{x, ct::extents{n}}, ct::shape{256_ic}};
    X.store_masked(ct::zeros<ct::tile<float, ct::shape<256>>>(), ct::bid().x);
}"""


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Where nvcc looks by itself, empty, and where younger headers are put, which is not there yet."""
    own, beside = tmp_path / "own", tmp_path / "headers" / "nvidia" / "cu13" / "include"
    own.mkdir()
    monkeypatch.setattr(nvcc, "own_headers", lambda: own)
    monkeypatch.setattr(nvcc, "BESIDE", beside)
    return own, beside


@pytest.fixture
def asked_of_pip(monkeypatch):
    asked = []
    monkeypatch.setattr(nvcc.subprocess, "run", lambda command, check: asked.append(command))
    return asked


def test_headers_with_tiles_need_no_others(folders, asked_of_pip):
    (folders[0] / nvcc.TILES).touch()
    assert nvcc.nvcc_command() == [str(nvcc.nvcc_path())]
    nvcc.add_headers()
    assert asked_of_pip == []


def test_older_headers_are_said_before_nvcc_stumbles(folders):
    with pytest.raises(ToolMissing, match=r"nvcc's headers are older .* -m tutorlib\.compiling\.nvcc$"):
        nvcc.nvcc_command()


def test_headers_of_nvccs_version_are_put_beside_older_ones_once(folders, asked_of_pip):
    _, beside = folders
    nvcc.add_headers()
    ((*_, folder, wanted),) = asked_of_pip
    assert Path(folder) == beside.parents[2]
    assert wanted == f"nvidia-cuda-runtime=={metadata.version('nvidia-cuda-nvcc')}"
    beside.mkdir(parents=True)
    (beside / nvcc.TILES).touch()
    nvcc.add_headers()
    assert len(asked_of_pip) == 1


def test_headers_from_beside_come_first(tmp_path, monkeypatch, folders):
    """nvcc's own environment has some, too; these have an error of their own."""
    _, beside = folders
    beside.mkdir(parents=True)
    (beside / nvcc.TILES).write_text("#error from beside\n")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache")
    compile_cpp.cache_clear()
    with pytest.raises(CompileFailed, match="from beside"):
        compile_cpp(CLEAR)
