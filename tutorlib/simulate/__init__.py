"""Kernels, run on a machine with no GPU: their results, and the hazards that a GPU hides.

    from tutorlib.simulate import simulate

    report = simulate(host, a, b, c)    # a @cute.jit host function and its torch tensors
    print(report)                       # the hazards by line, and the cost of the accesses to memory
    report.raise_for_findings()

`simulate` also takes Python functions that launch cuTile or CuTe kernels, PTX, and CUDA C++. `tutor simulate` does the
same from a shell. README.md has examples and limits.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.findings import Finding
    from tutorlib.simulate.report import Report
    from tutorlib.simulate.tool import simulate

__all__ = ["Finding", "Report", "simulate"]


def lazy(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`, which imports a public name when it is first used: NumPy takes a moment."""

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return load


__getattr__ = lazy(__name__, {"Finding": "ptx.findings", "Report": "report", "simulate": "tool"})
