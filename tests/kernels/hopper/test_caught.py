"""How often a GPU catches the wrong Hopper kernels: `python -m tests.gpu.hopper_wrong` wrote it down."""

import json

import pytest

from tests.gpu.hopper_wrong import KERNELS, NAME, RIGHT
from tutorlib.paths import SWEEPS

FOUND = {
    file.name: json.loads(file.read_text(encoding="utf-8"))["kernels"] for file in sorted(SWEEPS.glob(f"*_{NAME}.json"))
}


@pytest.mark.parametrize("file", FOUND)
def test_what_was_run_is_known(file):
    """A kernel that came later is run the next time."""
    assert FOUND[file].keys() <= KERNELS.keys()
    for found in FOUND[file].values():
        assert 0 <= found["failed"] <= found["runs"]


@pytest.mark.parametrize("file", FOUND)
def test_the_right_kernel_was_right_each_time(file):
    found = FOUND[file][RIGHT]
    assert (found["ended"], found["failed"]) == ("ran", 0)
    assert found["runs"] > 1


@pytest.mark.parametrize("file", FOUND)
def test_a_gpu_alone_does_not_catch_them_all(file):
    """Which is why they are simulated, too."""
    caught = {name for name, found in FOUND[file].items() if found["failed"]}
    assert caught
    assert {"no wait for wgmma", "stores before the wait"}.isdisjoint(caught)
