"""What there is to run: sources, and their kernels, each a command on small inputs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

PYTHON = sys.executable


@dataclass(frozen=True)
class Source:
    """Others' kernels. variable: the environment variable that names a checkout. package: what must be installed."""

    name: str
    repository: str
    variable: str
    package: str = ""

    @property
    def checkout(self) -> Path:
        return Path(os.environ[self.variable]).resolve()

    @property
    def is_here(self) -> bool:
        return self.variable in os.environ

    def version(self) -> dict[str, str]:
        git = ["git", "-C", str(self.checkout), "rev-parse", "HEAD"]
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        package = {self.package: metadata.version(self.package)} if self.package else {}
        return {"repository": self.repository, "commit": commit} | package


@dataclass(frozen=True)
class Case:
    """One kernel on small inputs.

    command: what `tutor simulate --` runs; it fails with an AssertionError where the result is not torch's. target:
    "sm_90a", for which it is compiled. folders: from which it imports.
    """

    source: Source
    name: str
    target: str
    command: tuple[str, ...]
    folders: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.source.name}: {self.name}"


def all_cases() -> Iterator[Case]:
    """Of the sources that are here."""
    from tests.outside import cute_examples, cutile_kernels, quack_kernels, triton_tutorials

    yield from cutile_kernels.cases()
    for source, cases in (
        (cute_examples.AMPERE_SOURCE, cute_examples.cases),
        (quack_kernels.SOURCE, quack_kernels.cases),
        (triton_tutorials.SOURCE, triton_tutorials.cases),
    ):
        if source.is_here:
            yield from cases()
