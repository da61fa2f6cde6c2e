"""Launchers and the driver under them; counters."""

import ctypes
import os
import stat
import struct
from types import SimpleNamespace

import pytest
import torch

from tests.gpu.right_kernels import one_thread_per_element
from tests.gpu_kernels import COPY
from tests.pages.p09 import ADD
from tests.stand_ins import H200
from tutorlib.compiling.compiled import LaunchConfig
from tutorlib.compiling.cpp import compile_cpp, compile_cuda_kernel
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine import device
from tutorlib.measuring.counters import NoCounters, count
from tutorlib.measuring.driver import driver_config, load
from tutorlib.measuring.launchers import CuteLauncher, HopperLauncher, tensor_specs
from tutorlib.problems.catalogue import copy, gemm, gemm_fp8, transpose
from tutorlib.problems.differences import find_difference
from tutorlib.problems.work import Work


def test_specs_are_the_problems_tensors_the_output_last():
    assert tensor_specs(gemm("bf16"), (8, 16, 32)) == [
        TensorSpec((8, 32), "bf16"), TensorSpec((16, 32), "bf16"), TensorSpec((8, 16), "bf16"),
    ]  # fmt: skip
    assert [spec.shape for spec in tensor_specs(transpose("fp32"), (64, 96))] == [(64, 96), (96, 64)]


def test_dynamic_layouts_carry_what_divides_their_size():
    wanted = TensorSpec((2048, 64), dynamic=True, divisibility=4)
    assert tensor_specs(copy("fp32"), (2048, 64), dynamic=True, divisible=4) == [wanted] * 2


def test_one_compilation_serves_all_sizes_where_layouts_are_dynamic():
    launcher = CuteLauncher(one_thread_per_element, COPY.problem, dynamic=True)
    assert launcher.compiled((8, 16), "80") is launcher.compiled((32, 64), "80")
    assert launcher.compiled((8, 16), "90") is not launcher.compiled((8, 16), "80")


def test_each_size_has_its_own_where_they_are_static():
    launcher = CuteLauncher(one_thread_per_element, COPY.problem)
    assert launcher.compiled((8, 16), "80") is launcher.compiled((8, 16), "80")
    assert launcher.compiled((8, 16), "80") is not launcher.compiled((32, 64), "80")


class TestHopper:
    """The kernel's place is taken by torch, which gets what the kernel would."""

    SHAPE = (256, 384, 512)

    @pytest.fixture
    def made(self, on_cpu, monkeypatch):
        """(configuration, shape) of each launch that was made ready."""
        made = []

        def launcher(config, m, n, k, parts=None):
            made.append((config, (m, n, k)))

            def run(a, b, c, scale_a=None, scale_b=None):
                if config.scaled:
                    a = a.float() * scale_a * scale_b
                c.copy_(a.float() @ b.float().mT)

            return run

        monkeypatch.setattr(launch, "launcher", launcher)
        monkeypatch.setattr(device, "gpu", lambda: H200)
        return made

    def is_right(self, problem, launcher):
        work = Work(problem, self.SHAPE)
        work.refill(torch.Generator().manual_seed(1))
        launcher.on(work)()
        return find_difference("c", *work.output.seen, *work.expected()) is None

    @pytest.mark.parametrize(
        ("problem", "config"),
        [(gemm("bf16"), HopperConfig()), (gemm_fp8(), HopperConfig((128, 160, 128), dtype="e4m3", scaled=True))],
        ids=["bf16", "one scale"],
    )
    def test_the_kernel_gets_the_problems_tensors(self, made, problem, config):
        assert self.is_right(problem, HopperLauncher(config))
        assert made == [(config, self.SHAPE)]

    def test_sets_of_tensors_share_a_launch(self, made):
        launcher = HopperLauncher(HopperConfig())
        for _ in range(3):
            launcher.on(Work(gemm("bf16"), self.SHAPE))
        assert len(made) == 1


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

    def launched(config, function, parameters, extra):
        sizes = config.gridDimX, config.gridDimY, config.blockDimX, config.blockDimY, config.sharedMemBytes
        calls.append((function, *sizes, int(config.hStream), parameters, extra))
        return (good,)

    monkeypatch.setattr(driver, "cuLaunchKernelEx", launched)
    return calls


def test_a_launch_hands_over_the_arguments(calls):
    """Pointers as 64 bits, sizes as the kernel's own integers: what the driver gets from cuda-bindings."""
    a, b, c = (torch.zeros(8) for _ in range(3))
    load(compile_cpp(ADD), (3,), (a, b, c, 8))()
    pointers = tuple(x.data_ptr() for x in (a, b, c))
    kinds = (ctypes.c_void_p,) * 3 + (ctypes.c_int32,)
    assert calls == [(b"_Z10vector_addPKfS0_Pfi", 3, 1, 1, 1, 0, 7, ((*pointers, 8), kinds), 0)]


def test_a_plain_cuda_kernel_is_launched_with_its_threads(calls):
    compiled = compile_cuda_kernel(BUGS["rms_norm"].source, "sm_90")
    assert compiled.parameters == ("u64", "u64", "u32", "u32")  # a pointer of plain CUDA is a number
    assert compiled.threads == 128
    x, y = torch.zeros(8, 4), torch.zeros(8, 4)
    load(compiled, (4,), (x, y, 8, 4), (128,))()
    kinds = (ctypes.c_int64,) * 2 + (ctypes.c_int32,) * 2
    values = (x.data_ptr(), y.data_ptr(), 8, 4)
    assert calls == [(b"rms_norm", 4, 1, 128, 1, 0, 7, (values, kinds), 0)]


def test_a_launch_is_described_as_the_driver_reads_it():
    """CUlaunchConfig of cuda.h: three sizes twice, shared memory, stream, attributes and how many of 72 bytes each."""
    described = driver_config(LaunchConfig((3, 4), (128,), 70_000, (2, 1), cooperative=True, overlapping=True))
    raw = ctypes.string_at(described.getPtr(), 56)
    assert struct.unpack_from("<7I", raw) == (3, 4, 1, 128, 1, 1, 70_000)
    attributes, count = struct.unpack_from("<QI", raw, 40)
    found = [struct.unpack_from("<II3I", ctypes.string_at(attributes + 72 * n, 72)) for n in range(count)]
    assert [(kind, *value) for kind, _, *value in found] == [(4, 2, 1, 1), (2, 1, 0, 0), (6, 1, 0, 0)]
    assert driver_config(LaunchConfig((1,))).numAttrs == 0


PRINTED = """\
==PROF== Connected to process 17
"ID","Kernel Name","conflicts.sum","dram.sum"
"","","","byte"
"0","gemm_kernel","0","5,770,606,592"
"1","gemm_kernel","29,589,504","17"
"""


@pytest.fixture
def ncu(tmp_path, monkeypatch):
    """Puts an ncu on the path that prints a text, its arguments on stderr, and exits with a status."""

    def install(text, status=0):
        program = tmp_path / "ncu"
        program.write_text(f"#!/bin/sh\necho \"$@\" > {tmp_path}/arguments\ncat <<'END'\n{text}\nEND\nexit {status}\n")
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return tmp_path / "arguments"

    return install


def test_a_row_for_each_launch(ncu):
    arguments = ncu(PRINTED)
    assert count(["python", "-m", "x"], ["conflicts.sum", "dram.sum"], "gemm") == [
        {"conflicts.sum": 0, "dram.sum": 5770606592},
        {"conflicts.sum": 29589504, "dram.sum": 17},
    ]
    said = arguments.read_text()
    assert "--metrics=conflicts.sum,dram.sum" in said
    assert said.endswith("--kernel-name=regex:gemm python -m x\n")


def test_only_what_is_marked_is_counted_where_that_is_asked_for(ncu):
    arguments = ncu(PRINTED)
    count(["x"], ["dram.sum"])
    assert "--profile-from-start" not in arguments.read_text()
    count(["x"], ["dram.sum"], marked=True)
    assert "--profile-from-start=off" in arguments.read_text()


def test_a_counter_that_the_gpu_lacks(ncu):
    ncu(PRINTED)
    with pytest.raises(NoCounters, match="does not count other"):
        count(["x"], ["conflicts.sum", "other"])


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", 1, "ERR_NVGPUCTRPERM"),
        ("==WARNING== No kernels were profiled.", 0, "No kernels were profiled"),
        ("==PROF== Connected", 0, "no kernel named 'gemm' was launched"),
    ],
)
def test_nothing_was_counted(ncu, text, status, says):
    ncu(text, status)
    with pytest.raises(NoCounters, match=says):
        count(["x"], ["conflicts.sum"], "gemm")


def test_without_ncu(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoCounters, match="not on the path"):
        count(["x"], ["conflicts.sum"])
