"""Each wrong kernel is a change that still fits the source, and that the compilers take: only running it shows."""

from collections.abc import Callable
from functools import cache

import pytest

from tests.kernels.hopper.wrong_kernels import WRONG, WrongKernel, build, changed, own
from tests.pages.change import DoesNotApply, swap, without
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.launch import compile_gemm

SOURCE = "class Ring:\n    def wait(self):\n        one()\n        two()\n\n    def tell(self):\n        one()\n"


def instructions(ptx: str) -> list[str]:
    return [line for line in ptx.splitlines() if line.startswith("\t") and ".loc" not in line]


@pytest.fixture(scope="module")
def right(tmp_path_factory) -> Callable[[HopperConfig], list[str]]:
    options = f"--keep-ptx --keep-cubin --dump-dir {tmp_path_factory.mktemp('right')}"
    return cache(lambda config: instructions(compile_gemm(config, options).artifacts.PTX))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_compiles_to_something_else(name, right, tmp_path):
    wrong, launch = WRONG[name], build(WRONG[name])
    options = f"--keep-ptx --keep-cubin --dump-dir {tmp_path}"
    assert instructions(launch.compile_gemm(own(launch, wrong.config), options).artifacts.PTX) != right(wrong.config)


def test_only_the_named_method_is_changed():
    assert changed(SOURCE, "Ring.wait", without("one()")) == SOURCE.replace("        one()\n        two", "        two")
    assert changed(SOURCE, "Ring.tell", swap("one", "two")).count("two()") == 2


@pytest.mark.parametrize("place", ["Ring.lose", "Loop.wait", "wait"])
def test_a_change_of_what_is_not_there_is_an_error(place):
    with pytest.raises(DoesNotApply, match="0 of "):
        changed(SOURCE, place, without("one()"))


def test_a_change_that_does_not_fit_is_an_error():
    with pytest.raises(DoesNotApply):
        build(WrongKernel("nothing", "pipeline:Loads.issue", without("wait_for_godot")))
