"""Compiled PTX, run on NumPy: the kernel's results, and what a GPU would not tell about it."""

from typing import TYPE_CHECKING

from tutorlib.simulate import lazy

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.findings import CannotLaunch, Finding, NotSimulated
    from tutorlib.simulate.ptx.launch import run
    from tutorlib.simulate.ptx.report import MemoryAccess, Report

__all__ = ["CannotLaunch", "Finding", "MemoryAccess", "NotSimulated", "Report", "run"]

FINDINGS = dict.fromkeys(("CannotLaunch", "Finding", "NotSimulated"), "findings")
__getattr__ = lazy(__name__, FINDINGS | {"MemoryAccess": "report", "Report": "report", "run": "launch"})
