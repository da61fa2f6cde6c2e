"""The hardware table."""

import pytest

from tutorlib.machine.hardware import hardware_of


@pytest.mark.parametrize("name", ["NVIDIA L40", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GB200", "Tesla T4", ""])
def test_an_unknown_gpu_is_no_guess(name):
    assert hardware_of(name) is None
