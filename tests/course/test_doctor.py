"""`tutor doctor` on machines that this one is not."""

from dataclasses import replace

import pytest
import torch
from typer.testing import CliRunner

from tests.stand_ins import H200
from tutorlib.cli import app
from tutorlib.course import doctor
from tutorlib.machine import device
from tutorlib.measuring import results
from tutorlib.problems.work import RESTART


@pytest.fixture
def machine(monkeypatch):
    """Makes this machine one with the given GPU, driver and torch build."""

    def make(gpu=None, driver=None, cuda=None, packages=None):
        monkeypatch.setattr(device, "gpu", lambda: gpu)
        monkeypatch.setattr(device, "driver_version", lambda: driver)
        monkeypatch.setattr(torch.version, "cuda", cuda)
        if packages is not None:
            monkeypatch.setattr(device, "packages", lambda: packages)
        monkeypatch.setattr(results, "load_targets", lambda: {})
        monkeypatch.setattr(doctor, "device_answers", lambda: None)

    return make


def said():
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    return result.output


MISSING = {"torch": "2.13.0", "nvidia-cutlass-dsl": None}


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ({}, "GPU      no GPU here\n"),
        ({}, "layouts (00 to 03): everything"),
        ({}, "Blackwell kernels: results, in the simulator; not speed (no GPU here)"),
        ({}, "next     00.1 ceil_div in 00 · Start here; `make lab` opens the contents page\n"),
        ({"gpu": H200}, "NVIDIA H200, sm_90, 132 SMs, 140 GiB, driver 580.0"),
        ({"gpu": H200}, "by the datasheet: 4.8 TB/s, 989 TFLOP/s bf16"),
        ({"gpu": H200}, "Hopper kernels: results and speed"),
        ({"gpu": H200}, "Blackwell kernels: results, in the simulator; not speed (this GPU is sm_90"),
        ({"gpu": H200}, "sm_90: none, so speed is shown but not graded"),
        ({"gpu": replace(H200, name="NVIDIA Z9000")}, "the hardware table has no NVIDIA Z9000"),
        ({"driver": "470.82.01", "cuda": "13.0"}, "driver 470.82.01 is too old for torch's CUDA 13.0: it needs 580 or"),
        ({"driver": "580.95"}, "this torch is a build without CUDA"),
        ({"driver": "580.95", "cuda": "13.0"}, "is CUDA_VISIBLE_DEVICES set?"),
        ({"packages": MISSING}, "packages nvidia-cutlass-dsl is missing: install"),
        ({"packages": MISSING}, "next     repair the line 'packages' above, then run `tutor doctor` again\n"),
    ],
)
def test_a_machine(machine, made, says):
    machine(**made)
    assert says in said()


def test_a_broken_context(machine, monkeypatch):
    machine(H200)
    monkeypatch.undo()
    monkeypatch.setattr(device, "gpu", lambda: H200)

    def fails(*args, **kwargs):
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nand more lines")

    monkeypatch.setattr(torch, "ones", fails)
    assert f"context  CUDA error: an illegal memory access was encountered. {RESTART}\n" in said()


@pytest.mark.parametrize("command", ["calibrate", "evidence"])
def test_measuring_without_a_gpu_says_so(command, machine):
    machine()
    result = CliRunner().invoke(app, [command])
    assert result.exit_code == 2
    assert "This needs a GPU: no GPU here." in result.output
