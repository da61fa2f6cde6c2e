"""Package versions, as result files carry them."""

from tutorlib.machine import versions


def test_versions_of_missing_packages_are_none(monkeypatch):
    monkeypatch.setattr(versions, "PACKAGES", ("torch", "no-such-package"))
    assert versions.packages()["no-such-package"] is None
    assert versions.packages()["torch"]


def test_a_machine_without_a_gpu_has_its_packages_all_the_same(no_gpu):
    here = versions.this_machine()
    assert (here["gpu"], here["arch"], here["driver"]) == (None, None, None)
    assert set(here["packages"]) == set(versions.PACKAGES)
