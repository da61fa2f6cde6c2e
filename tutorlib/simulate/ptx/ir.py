"""Parsed PTX: a module's kernels, their instructions and operands (PTX ISA, chapters 4 to 8)."""

from dataclasses import dataclass, field
from functools import cache, cached_property


@dataclass(frozen=True, slots=True)
class Register:
    """A register, or one of the machine's own: %tid.x."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number, as it is written: "16", "0xFF", "0f3F800000"."""

    text: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable's address, or a label."""

    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """[base + offset]; `coordinates` of a tensor access [base, {x, y}]."""

    base: "Register | Symbol | Immediate"
    offset: int = 0
    coordinates: "tuple[Operand, ...]" = ()


@dataclass(frozen=True, slots=True)
class Vector:
    """Several in one place: {a, b, …}, the results p|q, or the arguments (a, b) of a call."""

    items: "tuple[Operand, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """!p"""

    register: Register


Operand = Register | Immediate | Symbol | Address | Vector | Not


@dataclass(frozen=True, slots=True)
class Location:
    """A .loc directive: file number and line; callers: the same of the calls that were inlined, the innermost first."""

    file: int
    line: int
    callers: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    opcode: with all its suffixes, "ld.global.v4.b32". guard: the predicate before it, and `negated` whether @!p.
    line: of the PTX, from 1. location: the .loc in force.
    """

    opcode: str
    operands: tuple[Operand, ...]
    guard: Register | None
    negated: bool
    line: int
    location: Location | None

    @property
    def parts(self) -> tuple[str, ...]:
        return parts_of(self.opcode)

    def __str__(self) -> str:
        return self.opcode


@cache
def parts_of(opcode: str) -> tuple[str, ...]:
    """ "add.s32" → ("add", "s32"): asked again and again of the same few."""
    return tuple(opcode.split("."))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel's parameter: its name, place and size in the parameter space, in bytes; kind: "u64", "f32", "b8", …"""

    name: str
    kind: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in memory. space: "shared", "global", "const", "local" or "param".

    size: bytes; None for dynamic shared memory. data: its first values, or b"".
    """

    name: str
    space: str
    size: int | None
    align: int
    data: bytes = b""


@dataclass(frozen=True)
class Kernel:
    """One .entry.

    registers: the PTX type by name; %r<9> stands there as "%r".
    labels: the number of the instruction that each stands before.
    threads: what .reqntid or .maxntid says of a block, or None. blocks_per_sm: what .minnctapersm says. cluster: what
        .reqnctapercluster says, in blocks, or None.
    """

    name: str
    parameters: tuple[Parameter, ...]
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    registers: dict[str, str]
    variables: dict[str, Variable]
    threads: tuple[int, int, int] | None
    blocks_per_sm: int = 1
    cluster: tuple[int, int, int] | None = None

    def type_of(self, register: str) -> str:
        """ "b32", "pred", …; "" for one of the machine's own."""
        return self.registers.get(register) or self.registers.get(register.rstrip("0123456789"), "")

    @cached_property
    def parameter_bytes(self) -> int:
        return max((p.offset + p.size for p in self.parameters), default=0)


@dataclass(frozen=True)
class Module:
    """A PTX file. variables: outside of kernels. files: what .file says, by number. target: "sm_80"."""

    target: str
    kernels: dict[str, Kernel]
    variables: dict[str, Variable]
    files: dict[int, str] = field(default_factory=dict)
