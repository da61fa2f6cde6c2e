"""Values that come from shared memory nobody wrote, followed until somebody computes with them.

A pipeline may well fetch a buffer ahead that it never uses; only the use is a fault.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.ir import Address, Group, Instruction, Not, Operand, Register, ResultPair, Vector

WITHOUT_RESULT = (
    "st",
    "red",
    "bra",
    "ret",
    "exit",
    "trap",
    "bar",
    "barrier",
    "cp",
    "call",
    "stmatrix",
    "membar",
    "fence",
)
COPIES = ("mov", "selp")  # give a value on and compute nothing


@dataclass
class Origin:
    """Where undefined values were read: a finding, if they are used. lanes: in whose registers they are."""

    site: int
    message: Callable[[], str]
    lanes: np.ndarray


@dataclass
class Undefined:
    """held: the undefined values in registers, by the register's name."""

    findings: Findings
    held: dict[str, Origin] = field(default_factory=dict)

    def note(self, site: int, instruction: Instruction, lanes: np.ndarray, message: Callable[[], str]) -> None:
        """The instruction has read undefined values into its result, for these lanes (booleans)."""
        for name in written(instruction):
            self.held[name] = Origin(site, message, lanes)

    def before(self, instruction: Instruction, lanes: np.ndarray) -> None:
        """Look at what an instruction is about to read and write. lanes: that run it."""
        origins = [self.held[name] for name in read(instruction) if name in self.held]
        used = [origin for origin in origins if (origin.lanes & lanes).any()]
        if instruction.parts[0] in COPIES and used:
            for name in written(instruction):
                self.held[name] = Origin(used[0].site, used[0].message, used[0].lanes & lanes)
            return
        for origin in used:
            self.findings.notice("unwritten", origin.site, origin.message, int((origin.lanes & lanes).sum()))
        for name in written(instruction):
            if name in self.held and instruction.guard is None:
                self.overwrite(name, lanes)

    def overwrite(self, name: str, lanes: np.ndarray) -> None:
        left = self.held[name].lanes & ~lanes
        if left.any():
            self.held[name] = Origin(self.held[name].site, self.held[name].message, left)
        else:
            del self.held[name]


def written(instruction: Instruction) -> list[str]:
    """The registers that an instruction's results go to."""
    if instruction.parts[0] in WITHOUT_RESULT or not instruction.operands:
        return []
    return register_names(instruction.operands[0], addresses=False)


def read(instruction: Instruction) -> list[str]:
    """The registers that an instruction reads, those of addresses among them."""
    operands = instruction.operands
    given = operands if instruction.parts[0] in WITHOUT_RESULT else operands[1:]
    found = [name for operand in given for name in register_names(operand, addresses=True)]
    return found + ([instruction.guard.name] if instruction.guard else [])


def register_names(operand: Operand, addresses: bool) -> list[str]:
    match operand:
        case Register(name) | Not(Register(name)):
            return [name]
        case Vector(items) | Group(items):
            return [name for item in items for name in register_names(item, addresses)]
        case ResultPair(first, second):
            return register_names(first, addresses) + register_names(second, addresses)
        case Address(base, _, coordinates) if addresses:
            return [name for item in (base, *coordinates) for name in register_names(item, addresses)]
    return []
