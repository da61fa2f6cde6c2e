"""Kernels launched through the driver: what cuda-bindings gets, and what it makes of it in memory."""

import ctypes
import struct
from types import SimpleNamespace

import pytest
import torch

from tests.pages.p08 import ADD
from tutorlib.compiling.compiled import LaunchConfig
from tutorlib.compiling.cpp import compile_cpp, compile_cuda_kernel
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.measuring.driver import driver_config, load


@pytest.fixture
def calls(monkeypatch):
    """The arguments of each launch, which cuda-bindings gets and no GPU does."""
    from cuda.bindings import driver

    calls = []
    good = driver.CUresult.CUDA_SUCCESS
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(driver, "cuModuleLoadData", lambda cubin: (good, "module"))
    monkeypatch.setattr(driver, "cuModuleGetFunction", lambda module, name: (good, name))
    monkeypatch.setattr(driver, "cuLaunchKernel", lambda *args: calls.append(args) or (good,))
    return calls


def test_a_launch_hands_over_the_arguments(calls):
    """Pointers as 64 bits, sizes as the kernel's own integers: what the driver gets from cuda-bindings."""
    a, b, c = (torch.zeros(8) for _ in range(3))
    load(compile_cpp(ADD), (3,), (a, b, c, 8))()
    pointers = tuple(x.data_ptr() for x in (a, b, c))
    kinds = (ctypes.c_void_p,) * 3 + (ctypes.c_int32,)
    assert calls == [(b"_Z10vector_addPKfS0_Pfi", 3, 1, 1, 1, 1, 1, 0, 7, ((*pointers, 8), kinds), 0)]


def test_a_plain_cuda_kernel_is_launched_with_its_threads(calls):
    compiled = compile_cuda_kernel(BUGS["rms_norm"].source, "sm_90")
    assert compiled.parameters == ("u64", "u64", "u32", "u32")  # a pointer of plain CUDA is a number
    assert compiled.threads == 128
    x, y = torch.zeros(8, 4), torch.zeros(8, 4)
    load(compiled, (4,), (x, y, 8, 4), (128,))()
    kinds = (ctypes.c_int64,) * 2 + (ctypes.c_int32,) * 2
    values = (x.data_ptr(), y.data_ptr(), 8, 4)
    assert calls == [(b"rms_norm", 4, 1, 1, 128, 1, 1, 0, 7, (values, kinds), 0)]


def test_a_launch_is_described_as_the_driver_reads_it():
    """CUlaunchConfig of cuda.h: three sizes twice, shared memory, stream, attributes and how many of 72 bytes each."""
    described = driver_config(LaunchConfig((3, 4), (128,), 70_000, (2, 1), cooperative=True, overlapping=True))
    raw = ctypes.string_at(described.getPtr(), 56)
    assert struct.unpack_from("<7I", raw) == (3, 4, 1, 128, 1, 1, 70_000)
    attributes, count = struct.unpack_from("<QI", raw, 40)
    found = [struct.unpack_from("<II3I", ctypes.string_at(attributes + 72 * n, 72)) for n in range(count)]
    assert [(kind, *value) for kind, _, *value in found] == [(4, 2, 1, 1), (2, 1, 0, 0), (6, 1, 0, 0)]
    assert driver_config(LaunchConfig((1,))).numAttrs == 0
