"""The hardware table."""

import pytest

from tutorlib.machine.hardware import hardware_of


@pytest.mark.parametrize(
    ("name", "bandwidth"),
    [
        ("NVIDIA H200", 4.8e12),
        ("NVIDIA H100 80GB HBM3", 3.35e12),
        ("NVIDIA A100-SXM4-80GB", 2.039e12),
        ("NVIDIA B200", 8e12),
        ("NVIDIA GeForce RTX 4090", 1.008e12),
        ("NVIDIA GeForce RTX 5090", 1.792e12),
        ("NVIDIA L40S", 0.864e12),
    ],
)
def test_the_table_knows_gpus_by_the_drivers_name(name, bandwidth):
    assert hardware_of(name).bandwidth == pytest.approx(bandwidth)


@pytest.mark.parametrize("name", ["NVIDIA L40", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GB200", "Tesla T4", ""])
def test_an_unknown_gpu_is_no_guess(name):
    assert hardware_of(name) is None
