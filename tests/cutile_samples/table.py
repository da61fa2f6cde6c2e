"""What a sample is, and how it is found, imported and compared."""

import ast
import itertools
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import cuda.tile as ct
import pytest
import torch

from tutorlib.simulate.cutile import TileReport, run
from tutorlib.simulate.cutile.dtypes import poison

FP32, TF32, FP16, BF16 = 2e-5, 2e-3, 4e-3, 1.6e-2  # tolerances: a few roundings of each


@dataclass(frozen=True)
class Source:
    """A repository of NVIDIA's.

    variable: the environment variable that names a checkout.
    folders: of the checkout, from which Python imports the samples.
    package: in the last of the folders, with the kernels that the table is to have all of.
    bare: packages whose __init__ is not run, because it imports more than the kernels need.
    """

    repository: str
    variable: str
    folders: tuple[str, ...]
    package: str
    bare: tuple[str, ...] = ()

    @property
    def checkout(self) -> Path:
        return Path(os.environ[self.variable]).resolve()

    def __str__(self) -> str:
        return self.repository

    def kernels(self) -> set[tuple[str, str]]:
        """Module and name of every @ct.kernel in the package."""
        root, found = self.checkout / self.folders[-1], set()
        for file in (root / self.package.replace(".", "/")).rglob("*.py"):
            module = ".".join(file.relative_to(root).with_suffix("").parts)
            for node in ast.walk(ast.parse(file.read_text())):
                decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
                if any(decorator.startswith("ct.kernel") for decorator in decorators):
                    found.add((module, node.name))
        return found


CUTILE_PYTHON = Source("NVIDIA/cutile-python", "TUTORLIB_CUTILE_SAMPLES", (".", "test"), "kernels")
TILEGYM = Source(
    "NVIDIA/TileGym",
    "TUTORLIB_TILEGYM",
    ("src",),
    "tilegym.ops.cutile",
    tuple(f"tilegym{package}" for package in ("", ".ops", ".ops.cutile", ".ops.cutile.experimental")),
)


@dataclass(frozen=True)
class Case:
    """One launch and its result.

    want: what torch gives, by the argument's place.
    tolerance: largest difference from it, in parts of its largest element (of 1 where all are smaller).
    finds: the kinds of the interpreter's findings; most samples have none.
    undetermined: stands where cuTile leaves a value undetermined, for samples that count on a finite one.
    needs: the sm_ number of the oldest GPU that runs it.
    """

    kernel: ct.kernel
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    want: dict[int, Any]
    tolerance: float = FP32
    finds: frozenset[str] = frozenset()
    undetermined: float | None = None
    needs: int = 80

    def interpret(self) -> TileReport:
        """Run it on the arguments as they are, as if for Hopper or the oldest GPU that will do."""
        undetermined = poison if self.undetermined is None else lambda dtype: self.undetermined
        return run(self.kernel, self.grid, self.args, f"sm_{max(90, self.needs)}", undetermined)


@dataclass(frozen=True)
class Sample:
    """A kernel of a repository. build: its imported module to a case."""

    name: str
    source: Source
    module: str
    build: Callable[[ModuleType], Case]

    def case(self) -> Case:
        """The case, its inputs the same every time. Raises ModuleNotFoundError where a package is missing."""
        module = imported(self.source, self.module)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return self.build(module)

    def __str__(self) -> str:
        return f"{self.source.repository.split('/')[1]}-{self.name}"


SAMPLES: list[Sample] = []


def of_source(parameter: Any, source: Source) -> Any:
    """A test's parameter that needs a checkout of the source."""
    return pytest.param(parameter, id=str(parameter), marks=pytest.mark.samples(source.variable))


def sample(source: Source, module: str, **variants: Iterable[Any]) -> Callable:
    """Put a function from the imported module to a Case into SAMPLES, once for each combination of its variants."""

    def add(build: Callable[..., Case]) -> Callable[..., Case]:
        for values in itertools.product(*variants.values()):
            chosen = dict(zip(variants, values, strict=True))
            name = "-".join([build.__name__, *(f"{key}={value}" for key, value in chosen.items())])
            SAMPLES.append(Sample(name, source, module, partial(build, **chosen)))
        return build

    return add


@cache
def imported(source: Source, module: str) -> ModuleType:
    root = source.checkout
    with pytest.MonkeyPatch.context() as patch:
        for folder in source.folders:
            patch.syspath_prepend(str(root / folder))
        for package in source.bare:
            if package not in sys.modules:
                sys.modules[package] = ModuleType(package)
                sys.modules[package].__path__ = [str(root / source.folders[0] / package.replace(".", "/"))]
        return import_module(module)


def assert_close(got: Any, want: Any, tolerance: float) -> None:
    """Within the tolerance in parts of the largest wanted element; lists of tensors each by itself."""
    if isinstance(want, list | tuple):
        for one, wanted in zip(got, want, strict=True):
            assert_close(one, wanted, tolerance)
        return
    got, want = got.cpu().double(), want.cpu().double()
    torch.testing.assert_close(got, want, rtol=0, atol=tolerance * max(1.0, float(want.abs().max())))
