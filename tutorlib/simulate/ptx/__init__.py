"""Compiled PTX, run on NumPy: the kernel's results, and what a GPU would not tell about it."""

from tutorlib.simulate.ptx.findings import CannotLaunch, Finding, MalformedPtx, NotSimulated, SourceLine
from tutorlib.simulate.ptx.launch import run
from tutorlib.simulate.ptx.report import MemoryAccess, Report
from tutorlib.simulate.ptx.simulation import Launch, simulate

__all__ = [
    "CannotLaunch",
    "Finding",
    "Launch",
    "MalformedPtx",
    "MemoryAccess",
    "NotSimulated",
    "Report",
    "SourceLine",
    "run",
    "simulate",
]
