"""Launchers: the tensors that a kernel is compiled for, and how often it is."""

import pytest
import torch

from tests.gpu.right_kernels import one_thread_per_element
from tests.gpu_kernels import COPY
from tests.stand_ins import H200
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine import device
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
        left = work.output.as_it_is()
        return find_difference("c", *left.seen, *work.expected()) is None

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
