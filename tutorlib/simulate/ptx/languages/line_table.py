"""Line tables of a cubin: which line an instruction's address belongs to.

They are line number programs of DWARF 2 (DWARF Debugging Information Format, version 2, 6.2), with one extension of
NVIDIA's, extended opcode 0x90: the rows that follow are of a function that was inlined at the row of that number.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from tutorlib.compiling.cubin import sections
from tutorlib.simulate.ptx.findings import SourceLine
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.places import Find, quoted

INLINED_CALL = 0x90
MOST_LINES = 5  # of one instruction: mma.sync and its four operands


@dataclass(frozen=True)
class Row:
    """caller: the number of the row where this row's function was inlined, from 1; 0 for none."""

    address: int
    file: str
    line: int
    caller: int


@dataclass
class Bytes:
    """Read from front to back."""

    data: bytes
    at: int = 0

    def number(self, size: int, signed: bool = False) -> int:
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little", signed=signed)

    def leb(self, signed: bool = False) -> int:
        """A number of 7 bits a byte, the lowest first (DWARF 2, 7.6)."""
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if signed and byte & 64 else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        found = self.data[self.at : end].decode()
        self.at = end + 1
        return found


@dataclass
class Machine:
    """The state machine that makes rows (DWARF 2, 6.2.2)."""

    address: int = 0
    file: int = 1
    line: int = 1
    caller: int = 0
    rows: list[tuple[int, int, int, int]] = field(default_factory=list)

    def row(self) -> None:
        self.rows.append((self.address, self.file, self.line, self.caller))

    def restart(self) -> None:
        self.address, self.file, self.line, self.caller = 0, 1, 1, 0


def read_table(data: bytes) -> Iterator[Row]:
    """The rows of one section's first line number program."""
    source = Bytes(data)
    end = source.number(4) + 4
    source.number(2)
    header = source.number(4)
    start = source.at + header
    shortest, _, base, span, first = (source.number(1), source.number(1), source.number(1, signed=True),
                                      source.number(1), source.number(1))  # fmt: skip
    lengths = [source.number(1) for _ in range(first - 1)]
    folders, files = ["."], [""]
    while name := source.text():
        folders.append(name)
    while name := source.text():
        folder = folders[source.leb()]
        source.leb(), source.leb()
        files.append(name if name.startswith("/") else f"{folder}/{name}")
    machine = Machine()
    source.at = start
    while source.at < end:
        opcode = source.number(1)
        if opcode >= first:
            machine.address += (opcode - first) // span * shortest
            machine.line += base + (opcode - first) % span
            machine.row()
        elif opcode:
            standard(machine, opcode, source, shortest, lengths, (255 - first) // span)
        else:
            extended(machine, source)
    for address, file, line, caller in machine.rows:
        yield Row(address, files[file] if file < len(files) else "", line, caller)


def standard(machine: Machine, opcode: int, source: Bytes, shortest: int, lengths: list[int], step: int) -> None:
    """DWARF 2, 6.2.5.2"""
    if opcode == 1:
        machine.row()
    elif opcode == 2:
        machine.address += source.leb() * shortest
    elif opcode == 3:
        machine.line += source.leb(signed=True)
    elif opcode == 4:
        machine.file = source.leb()
    elif opcode == 8:
        machine.address += step * shortest
    elif opcode == 9:
        machine.address += source.number(2)
    else:
        for _ in range(lengths[opcode - 1]):
            source.leb()


def extended(machine: Machine, source: Bytes) -> None:
    """DWARF 2, 6.2.5.3"""
    length = source.leb()
    end = source.at + length
    opcode = source.number(1)
    if opcode == 1:
        machine.row()
        machine.restart()
    elif opcode == 2:
        machine.address = source.number(length - 1)
    elif opcode == INLINED_CALL:
        machine.caller = source.leb()
    source.at = end


def by_cubin(cubin: bytes, source: str, text: list[str]) -> Find:
    """From an instruction's line in the PTX, through its address, to the reader's line.

    source: the end of the file name that is the reader's. text: its lines.
    """
    tables = {name: data for name, _, _, data in sections(cubin)}
    if not {".debug_line", ".nv_debug_line_sass"} <= set(tables):
        return lambda instruction: None
    rows = list(read_table(tables[".debug_line"]))
    numbered = sorted(enumerate(rows), key=lambda item: item[1].address)
    starts = [row.address for _, row in numbered]
    addresses: dict[int, int] = {}
    for row in read_table(tables[".nv_debug_line_sass"]):
        addresses.setdefault(row.line, row.address)

    @cache
    def of_line(line: int) -> SourceLine | None:
        if line not in addresses:
            return None
        row = numbered[bisect_right(starts, addresses[line]) - 1][1]
        while not row.file.endswith(source) and row.caller:
            row = rows[row.caller - 1]
        if not row.file.endswith(source) or not 0 < row.line <= len(text):
            return None
        return SourceLine(row.file, row.line, quoted(row.file, row.line, text))

    def find(instruction: Instruction) -> SourceLine | None:
        """An instruction over several lines counts as one of them."""
        return next((place for n in range(MOST_LINES) if (place := of_line(instruction.line + n))), None)

    return find
