"""What a kernel can need of a GPU, which GPUs have it, and what is known of a machine."""

from dataclasses import replace

import pytest

from tests.stand_ins import H200
from tutorlib.machine import device, versions
from tutorlib.machine.features import GENERATIONS, MMA_SYNC, TCGEN05, TMA, WGMMA, Feature, cute_target
from tutorlib.machine.hardware import hardware_of


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


@pytest.mark.parametrize("name", ["NVIDIA L40", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GB200", "Tesla T4", ""])
def test_an_unknown_gpu_is_no_guess(name):
    assert hardware_of(name) is None


def test_versions_of_missing_packages_are_none(monkeypatch):
    monkeypatch.setattr(versions, "PACKAGES", ("torch", "no-such-package"))
    assert versions.packages()["no-such-package"] is None
    assert versions.packages()["torch"]


def test_a_machine_without_a_gpu_has_its_packages_all_the_same(no_gpu):
    here = versions.this_machine()
    assert (here["gpu"], here["arch"], here["driver"]) == (None, None, None)
    assert set(here["packages"]) == set(versions.PACKAGES)
