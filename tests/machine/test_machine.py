"""The machine at hand: its features, and turns on its GPU."""

import fcntl
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stand_ins import H200
from tutorlib.machine import device
from tutorlib.machine.features import GENERATIONS, MMA_SYNC, TCGEN05, TMA, WGMMA, Feature, cute_target, hardware_of


@pytest.mark.parametrize(
    ("needs", "arch", "why"),
    [
        (MMA_SYNC, "75", "this GPU is sm_75, without cp.async, ldmatrix and mma.sync"),
        (MMA_SYNC, "80", None),
        (MMA_SYNC, "89", None),
        (MMA_SYNC, "120", None),
        (TMA, "80", "this GPU is sm_80, without TMA"),
        (TMA, "90", None),
        (TMA, "100", None),
        (TMA, "120", None),
        (WGMMA, "90", None),
        (WGMMA, "89", "this GPU is sm_89, without WGMMA"),
        (WGMMA, "100", "this GPU is sm_100, without WGMMA"),
        (TCGEN05, "103", None),
        (TCGEN05, "110", None),
        (TCGEN05, "90", "this GPU is sm_90, without tcgen05"),
        (TCGEN05, "120", "this GPU is sm_120, without tcgen05"),
    ],
    ids=str,
)
def test_which_gpu_runs_what(needs, arch, why, monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: replace(H200, arch=arch))
    assert device.why_not(needs) == why


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_nothing_runs():
    assert device.why_not(MMA_SYNC) == device.NO_GPU
    with pytest.raises(RuntimeError, match=device.NO_GPU):
        device.need_gpu()


@pytest.mark.parametrize(("arch", "target"), [("80", "sm_80"), ("89", "sm_89"), ("90", "sm_90a"), ("120", "sm_120a")])
def test_a_family_with_instructions_of_its_own_has_a_target_of_its_own(arch, target):
    assert cute_target(arch) == target


@pytest.mark.parametrize(("feature", "target"), [(MMA_SYNC, "sm_80"), (TMA, "sm_90a"), (TCGEN05, "sm_100a")])
def test_a_feature_is_compiled_for_the_oldest_gpu_that_has_it(feature: Feature, target):
    assert feature.target == target
    assert feature.on(str(feature.since))


def test_every_feature_is_on_a_generation_that_exercises_are_compiled_for():
    for feature in (MMA_SYNC, TMA, WGMMA, TCGEN05):
        assert any(feature.on(arch) for arch in GENERATIONS)


@pytest.mark.parametrize("name", ["NVIDIA Z99", "NVIDIA H200 Laptop GPU", "H200", ""])
def test_an_unknown_gpu_is_no_guess(name):
    assert hardware_of(name) is None


def test_versions_of_missing_packages_are_none(monkeypatch):
    monkeypatch.setattr(device, "PACKAGES", ("torch", "no-such-package"))
    assert device.packages()["no-such-package"] is None
    assert device.packages()["torch"]


def test_a_machine_without_a_gpu_has_its_packages_all_the_same(no_gpu):
    here = device.this_machine()
    assert (here["gpu"], here["arch"], here["driver"]) == (None, None, None)
    assert set(here["packages"]) == set(device.PACKAGES)


HOLDS = """
import sys
from tutorlib.machine import device
with device.own_turn():
    print("mine", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(device.TURNS, str(tmp_path))
    return tmp_path


def is_free(file: Path, kind: int) -> bool:
    """Whether somebody else could have this lock now."""
    with file.open("a") as other:
        try:
            fcntl.flock(other, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_results_are_looked_at_side_by_side(folder):
    with device.shared_turn(), device.shared_turn():
        assert not is_free(folder / "gpu", fcntl.LOCK_EX)


def test_times_are_taken_alone(folder):
    with device.own_turn():
        assert not is_free(folder / "gpu", fcntl.LOCK_SH)
    assert is_free(folder / "gpu", fcntl.LOCK_EX)


def test_who_wants_to_be_alone_is_not_overtaken(folder):
    came = []

    def come(turn, name):
        with turn():
            came.append(name)

    timing = threading.Thread(target=come, args=(device.own_turn, "alone"))
    later = threading.Thread(target=come, args=(device.shared_turn, "beside"))
    with device.shared_turn():
        timing.start()
        while is_free(folder / "queue", fcntl.LOCK_EX):  # until it waits
            pass
        later.start()
    timing.join()
    later.join()
    assert came == ["alone", "beside"]


def test_who_dies_gives_the_turn_back(folder):
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"mine\n"
        assert not is_free(folder / "gpu", fcntl.LOCK_SH)
        holder.send_signal(signal.SIGKILL)
    with device.own_turn():
        pass


def test_nobody_waits_where_there_is_no_folder(monkeypatch):
    monkeypatch.delenv(device.TURNS, raising=False)
    with device.own_turn(), device.own_turn():
        pass
