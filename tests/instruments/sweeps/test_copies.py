"""The sweeps of notebook 05: each kernel is a right copy, and differs from its neighbor in what its name says."""

import re

import pytest

from tutorlib.checking.simulating import find_simulated_fault
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.instruments.sweeps.ampere import STEPS
from tutorlib.kernels.copies import CopyConfig, make_copy, make_directed_copy
from tutorlib.measuring.simulated_launchers import SimulatedCute
from tutorlib.problems.catalogue import copy

ACCESS = re.compile(r"^\s*(?:@!?%\w+\s+)?(ld|st)\.global(\S*)", re.MULTILINE)


def accesses(host):
    ptx = compile_cute(host, [TensorSpec((256, 256), "bf16")] * 2).ptx
    return ACCESS.findall(ptx)


@pytest.mark.parametrize(
    ("name", "order", "width"),
    [
        ("rung 2: one element at a time", "ls" * 64, ".b16"),
        ("+ all loads before the first store", "l" * 64 + "s" * 64, ".b16"),
        ("+ vectors of 16 bytes", "ls" * 8, ".v4.b32"),
        ("+ both", "l" * 8 + "s" * 8, ".v4.b32"),
        ("+ both, tile 64×128", "l" * 8 + "s" * 8, ".v4.b32"),
        ("+ both, tile 64×128, 256 threads", "l" * 4 + "s" * 4, ".v4.b32"),
    ],
)
def test_each_step_does_what_its_name_says(name, order, width):
    found = accesses(make_copy(STEPS[name]))
    assert "".join(op[0] for op, _ in found) == order
    assert {kind for _, kind in found} == {width}


@pytest.mark.parametrize(
    "host",
    [
        make_copy(CopyConfig(vector=1, loads_first=False, down=True)),
        make_copy(CopyConfig((64, 128), 256)),
        make_copy(CopyConfig((1, 256), 32)),
        *(make_directed_copy(loads, stores) for loads in ("down", "along") for stores in ("down", "along")),
    ],
    ids=["naive", "rung 3", "rows", "down-down", "down-along", "along-down", "along-along"],
)
def test_each_is_a_copy(host):
    assert find_simulated_fault(copy("bf16"), SimulatedCute(host, copy("bf16"), False, 1), (256, 512)) is None
