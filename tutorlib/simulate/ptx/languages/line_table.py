"""Line tables of a cubin: which line an instruction's address belongs to.

They are line number programs of DWARF 2 (DWARF Debugging Information Format, version 2, 6.2), with one extension of
NVIDIA's, extended opcode 0x90: the rows that follow are of a function that was inlined at the row of that number.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tutorlib.compiling.programs import sections
from tutorlib.simulate.ptx.findings import SourceLine
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.places import Find, quoted

MOST_LINES = 5  # of one instruction: mma.sync and its four operands


class Row(NamedTuple):
    """caller: the number of the row where this row's function was inlined, from 1; 0 for none."""

    address: int = 0
    file: int = 1
    line: int = 1
    caller: int = 0


class Bytes:
    """Read from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, size: int = 1, signed: bool = False) -> int:
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little", signed=signed)

    def leb(self, signed: bool = False) -> int:
        """A number of 7 bits a byte, the lowest first (DWARF 2, 7.6)."""
        value = shift = 0
        while True:
            byte = self.number()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if signed and byte & 64 else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        found, self.at = self.data[self.at : end].decode(), end + 1
        return found


def read_table(data: bytes) -> tuple[list[Row], dict[int, str]]:
    """The rows of one section's first line number program, and the files that they name."""
    source = Bytes(data)
    end = source.number(4) + 4
    source.number(2)
    header = source.number(4)
    start = source.at + header
    shortest, _, base, span, first = (source.number(signed=n == 2) for n in range(5))
    lengths = [source.number() for _ in range(first - 1)]
    folders, files = ["."], [""]
    while name := source.text():
        folders.append(name)
    while name := source.text():
        folder, _, _ = folders[source.leb()], source.leb(), source.leb()
        files.append(name if name.startswith("/") else f"{folder}/{name}")
    source.at = start
    return list(table_rows(source, end, shortest, base, span, first, lengths)), dict(enumerate(files))


def table_rows(
    source: Bytes, end: int, shortest: int, base: int, span: int, first: int, lengths: list[int]
) -> Iterator[Row]:
    """The state machine that makes rows (DWARF 2, 6.2.2). first: of the special opcodes."""
    row = Row()
    while source.at < end:
        match source.number():
            case opcode if opcode >= first:
                far, further = divmod(opcode - first, span)
                row = row._replace(address=row.address + far * shortest, line=row.line + base + further)
                yield row
            case 0:  # extended (6.2.5.3)
                length = source.leb()
                behind = source.at + length
                match source.number():
                    case 1:
                        yield row
                        row = Row()
                    case 2:
                        row = row._replace(address=source.number(length - 1))
                    case 0x90:  # NVIDIA's
                        row = row._replace(caller=source.leb())
                source.at = behind
            case 1:  # standard (6.2.5.2)
                yield row
            case 2:
                row = row._replace(address=row.address + source.leb() * shortest)
            case 3:
                row = row._replace(line=row.line + source.leb(signed=True))
            case 4:
                row = row._replace(file=source.leb())
            case 8:
                row = row._replace(address=row.address + (255 - first) // span * shortest)
            case 9:
                row = row._replace(address=row.address + source.number(2))
            case opcode:
                for _ in range(lengths[opcode - 1]):
                    source.leb()


def by_cubin(cubin: bytes, source: str, text: list[str]) -> Find:
    """From an instruction's line in the PTX, through its address, to the reader's line.

    source: the end of the file name that is the reader's. text: its lines.
    """
    tables = {name: data for name, _, _, data in sections(cubin)}
    if not {".debug_line", ".nv_debug_line_sass"} <= set(tables):
        return lambda instruction: None
    rows, files = read_table(tables[".debug_line"])
    ordered = sorted(rows, key=lambda row: row.address)
    starts = [row.address for row in ordered]
    addresses: dict[int, int] = {}
    for row in read_table(tables[".nv_debug_line_sass"])[0]:
        addresses.setdefault(row.line, row.address)

    @cache
    def of_line(line: int) -> SourceLine | None:
        if line not in addresses:
            return None
        row = ordered[bisect_right(starts, addresses[line]) - 1]
        while not files.get(row.file, "").endswith(source) and row.caller:
            row = rows[row.caller - 1]
        file = files.get(row.file, "")
        if not file.endswith(source) or not 0 < row.line <= len(text):
            return None
        return SourceLine(file, row.line, quoted(file, row.line, text))

    def find(instruction: Instruction) -> SourceLine | None:
        """An instruction over several lines counts as one of them."""
        return next((place for n in range(MOST_LINES) if (place := of_line(instruction.line + n))), None)

    return find
