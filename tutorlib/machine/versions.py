"""Which packages this machine has, and which of them ran, as result files carry them."""

from importlib import metadata
from typing import Any

from tutorlib.machine import device

# A kernel's speed can depend on these: frameworks, the compilers that they call, and the checker's own tools.
PACKAGES = (
    "torch",
    "nvidia-cutlass-dsl",
    "cuda-tile",
    "nvidia-cuda-tileiras",
    "nvidia-cuda-nvcc",
    "tensor-layouts",
    "nvidia-ml-py",
)


def packages() -> dict[str, str | None]:
    """Versions of the packages that kernels need; None where one is missing."""

    def version(name: str) -> str | None:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    return {name: version(name) for name in PACKAGES}


def this_machine() -> dict[str, Any]:
    """GPU, arch, driver and package versions, as result files carry them. `gpu` and `arch` are None without a GPU."""
    found = device.gpu()
    return {
        "gpu": found.name if found else None,
        "arch": f"sm_{found.arch}" if found else None,
        "driver": found.driver if found else None,
        "packages": packages(),
    }
