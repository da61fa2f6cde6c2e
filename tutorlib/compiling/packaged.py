"""The compilers' programs, which pip's packages bring along."""

from importlib import metadata
from pathlib import Path


def packaged_program(package: str, name: str) -> Path | None:
    """The path of the package's program of this name; None if it is not installed, or has none."""
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        files = []
    return next((Path(str(file.locate())) for file in files if file.name.removesuffix(".exe") == name), None)
