"""A Tile C++ kernel launched through the driver: what cuda-bindings gets."""

import ctypes
from types import SimpleNamespace

import torch

from tests.wrong.n08_tile_cpp import ADD
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.driver import load


def test_a_launch_hands_over_the_arguments(monkeypatch):
    """Pointers as 64 bits, sizes as the kernel's own integers: what the driver gets from cuda-bindings."""
    from cuda.bindings import driver

    calls = []
    good = driver.CUresult.CUDA_SUCCESS
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(driver, "cuModuleLoadData", lambda cubin: (good, "module"))
    monkeypatch.setattr(driver, "cuModuleGetFunction", lambda module, name: (good, name))
    monkeypatch.setattr(driver, "cuLaunchKernel", lambda *args: calls.append(args) or (good,))
    a, b, c = (torch.zeros(8) for _ in range(3))
    load(compile_cpp(ADD), (3,), (a, b, c, 8))()
    pointers = tuple(x.data_ptr() for x in (a, b, c))
    kinds = (ctypes.c_void_p,) * 3 + (ctypes.c_int32,)
    assert calls == [(b"_Z10vector_addPKfS0_Pfi", 3, 1, 1, 1, 1, 1, 0, 7, ((*pointers, 8), kinds), 0)]
