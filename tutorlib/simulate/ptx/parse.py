"""PTX text → ir.Module.

It reads what compilers write: one statement ends at a semicolon; scopes in braces may have registers and labels of
their own, as inline assembly has. Everything from the first .section on is debug information, in which cuTile's
compiler also keeps its own Tile IR.
"""

import re
from bisect import bisect_right
from collections import ChainMap
from dataclasses import replace
from functools import lru_cache

from tutorlib.simulate.ptx import ir
from tutorlib.simulate.ptx.findings import MalformedPtx, NotSimulated
from tutorlib.simulate.ptx.types import bits_of

NAME = r"[\w$%.]+"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INLINE = re.compile(r"// begin inline asm.*?// end inline asm", re.DOTALL)
LINE_NUMBER = r"(?m)^\s*\.loc\b.*"  # in inline assembly LLVM counts the lines of its text
FILE = re.compile(r'(?m)^\s*\.file\s+(\d+)\s+"([^"]*)"')
ENTRY = re.compile(rf"(?:\.visible|\.weak|\.extern)?\s*\.entry\s+({NAME})\s*(?:\((.*?)\))?\s*([^{{;]*)\{{", re.DOTALL)
NOT_VARIABLES = re.compile(  # between kernels: functions, and the lines that name versions
    r"(?m)^\s*\.(version|target|address_size|file|loc)\b.*$|\.func\b(.|\n)*?(;|\n\})"
)
STATEMENT = re.compile(
    rf"""\s*(?:
      (?P<open>\{{) | (?P<close>\}})
    | (?P<loc>\.loc\s[^\n]*) | (?P<skipped>\.(?:file|version|target|address_size|language)\b[^\n]*)
    | (?P<label>{NAME})\s*:(?!:)
    | (?P<text>[^;{{}}]*(?:\{{[^{{}}]*\}}[^;{{}}]*)*);
    )""",
    re.VERBOSE,
)
LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
PARAMETER = re.compile(rf"\.param\s+(.*?)\s*({NAME})\s*(?:\[(\d+)\])?\s*(?:,|$)", re.DOTALL)
VARIABLE = re.compile(
    rf"(?:\.(?:visible|weak|extern|common)\s+)*\.(?P<space>shared|global|const|local|param)\s+(?P<kind>.*?)"
    rf"\s*(?P<name>{NAME})\s*(?:\[(?P<count>\d*)\])?\s*(?:=\s*(?P<data>.*))?",
    re.DOTALL,
)
REGISTERS = re.compile(r"\.reg\s*(?:\.v([24])\s*)?\.(\w+)\s+(.*)", re.DOTALL)
INSTRUCTION = re.compile(r"(?:@(!?)([\w$%.]+)\s+)?([\w.:]+)\s*(.*)", re.DOTALL)
NUMBER = re.compile(r"-?(?:0[fFdD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?U?)$")
INITIAL = re.compile(r"0[fFdD][0-9a-fA-F]+|-?(?:0[xX][0-9a-fA-F]+|\d+)U?")  # of a variable
OPERAND = re.compile(r"(?:[^,\[{(]|\[[^]]*\]|\{[^}]*\}|\([^)]*\))+")
OFFSET = r"[-+]?\s*-?(?:0[xX][0-9a-fA-F]+|\d+)"
INSIDE_ADDRESS = re.compile(rf"([a-zA-Z_$%][\w$%.@]*)?\s*({OFFSET})?\s*(?:,\s*\{{(.*)\}})?$", re.DOTALL)


@lru_cache(maxsize=8)
def parse_ptx(ptx: str) -> ir.Module:
    """Raises MalformedPtx."""
    files = {int(number): name for number, name in FILE.findall(ptx)}
    text = INLINE.sub(lambda block: re.sub(LINE_NUMBER, "", block[0]), re.split(r"(?m)^\s*\.section\b", ptx)[0])
    text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    target = re.search(r"(?m)^\s*\.target\s+(\w+)", text)
    if target is None:
        raise MalformedPtx("there is no .target: is this PTX?")
    newlines = [m.start() for m in re.finditer("\n", text)]
    kernels: dict[str, ir.Kernel] = {}
    outside: list[str] = []  # the text between kernels
    at = 0
    for entry in ENTRY.finditer(text):
        outside.append(text[at : entry.start()])
        name, parameters, directives = entry.groups()
        body = Body(text, entry.end(), newlines)
        at = body.end
        parsed = read_parameters(parameters or ""), tuple(body.instructions), body.labels, body.registers
        asked = ("(?:req|max)ntid", "minnctapersm", "reqnctapercluster")
        threads, of_sm, cluster = (read_sizes(directive, directives) for directive in asked)
        kernels[name] = ir.Kernel(name, *parsed, body.variables, threads, (of_sm or (1,))[0], cluster)
    outside.append(text[at:])
    statements = (one for part in outside for one in re.findall(r"[^;]*;", NOT_VARIABLES.sub(";", part)))
    variables = map(read_variable, statements)
    return ir.Module(target[1], kernels, {v.name: v for v in variables if v}, files)


def read_sizes(names: str, directives: str) -> tuple[int, int, int] | None:
    """The sizes along x, y and z that a directive gives. names: a regular expression."""
    found = re.search(rf"\.{names}\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", directives)
    return (int(found[1]), int(found[2] or 1), int(found[3] or 1)) if found else None


def read_parameters(text: str) -> tuple[ir.Parameter, ...]:
    """Parameters lie one after another, each aligned to its type or to its .align."""
    parameters: list[ir.Parameter] = []
    end = 0
    for about, name, count in PARAMETER.findall(text):
        kind, size, align = read_type(about)
        start = -(-end // align) * align
        end = start + size * int(count or 1)
        parameters.append(ir.Parameter(name, kind, start, end - start))
    return tuple(parameters)


def read_type(about: str) -> tuple[str, int, int]:
    """The type of what is declared, its bytes and its alignment; of a pointer .align says where it points."""
    kind = next((word for word in re.findall(r"\.(\w+)", about) if re.fullmatch(r"[subf]\d+", word)), "b8")
    stated, size = re.search(r"\.align\s+(\d+)", about), bits_of(kind) // 8
    return kind, size, int(stated[1]) if stated and ".ptr" not in about else size


def read_variable(text: str) -> ir.Variable | None:
    """A declaration such as ".shared .align 128 .b8 s[1024]", or None for another statement."""
    found = VARIABLE.fullmatch(text.strip(" \n\t;"))
    if found is None:
        return None
    _, width, align = read_type(found["kind"])
    size = None if found["count"] == "" else width * int(found["count"] or 1)
    values = re.findall(r"[^\s{},]+", found["data"] or "")
    if unknown := next((value for value in values if not INITIAL.fullmatch(value)), ""):
        raise NotSimulated(f"{found['name']}, a variable whose initial value is {unknown},")
    numbers = (int(value[2:], 16) if value[1:2] in tuple("fFdD") else int(value.rstrip("U"), 0) for value in values)
    data = b"".join((number % (1 << 8 * width)).to_bytes(width, "little") for number in numbers)
    return ir.Variable(found["name"], found["space"], size, align, data)


class Body:
    """A kernel's statements, read from its opening brace on. end: where the text goes on behind its closing brace."""

    def __init__(self, text: str, start: int, newlines: list[int]) -> None:
        self.newlines = newlines
        self.instructions: list[ir.Instruction] = []
        self.labels: dict[str, int] = {}
        self.registers: dict[str, str] = {}
        self.variables: dict[str, ir.Variable] = {}
        self.scopes: ChainMap[str, str] = ChainMap()  # a name as it is written → as it is read
        self.opened = 0
        self.calls: dict[tuple[int, ...], tuple[tuple[int, int], ...]] = {}  # file, line, column → what called it
        self.end = self.read(text, start)

    def read(self, text: str, at: int) -> int:
        location: ir.Location | None = None
        while True:
            found = STATEMENT.match(text, at)
            if found is None:
                raise MalformedPtx(f"line {self.line_of(at)}: {text[at : at + 40]!r} is no statement")
            at = found.end()
            kind = found.lastgroup
            if kind == "open":
                self.opened += 1
                self.scopes = self.scopes.new_child()
                self.declare_labels(text, at)
            elif kind == "close":
                if len(self.scopes.maps) == 1:
                    return at
                self.scopes = self.scopes.parents
            elif kind == "loc":
                location = self.location(found["loc"])
            elif kind == "label":
                self.labels[self.unique(found["label"])] = len(self.instructions)
            elif kind == "text":
                self.statement(found["text"].strip(), self.line_of(found.start("text")), location)

    def location(self, text: str) -> ir.Location | None:
        """A call that was itself inlined stands in an earlier .loc, with what called it (PTX ISA, 11.5.3)."""
        found = LOC.match(text)
        if found is None:
            return None
        file, line, column, *call = (int(n) for n in found.groups() if n)
        callers = ((call[0], call[1]), *self.calls.get(tuple(call), ())) if call else ()
        self.calls[file, line, column] = callers
        return ir.Location(file, line, callers)

    def line_of(self, at: int) -> int:
        return bisect_right(self.newlines, at - 1) + 1

    def unique(self, name: str) -> str:
        return self.scopes.get(name, name)

    def declare(self, name: str, sign: str = "") -> str:
        """A name of the innermost scope, unique in the kernel. sign: what it begins with, "%" for a register."""
        unique = sign + name.removeprefix(sign) + (f"@{self.opened}" if len(self.scopes.maps) > 1 else "")
        if unique != name:
            self.scopes[name] = unique
        return unique

    def declare_labels(self, text: str, at: int) -> None:
        """The labels of the scope that begins here: a branch may come before its label."""
        inside = text[at : text.find("}", at)]
        for name in re.findall(rf"(?m)^\s*({NAME})\s*:(?!:)", inside):
            self.declare(name)

    def statement(self, text: str, line: int, location: ir.Location | None) -> None:
        if text.startswith(".reg"):
            self.declare_registers(text)
        elif text.startswith("."):
            if variable := read_variable(text):
                unique = self.declare(variable.name)
                self.variables[unique] = replace(variable, name=unique)
        elif text:
            self.instructions.append(self.instruction(text, line, location))

    def declare_registers(self, text: str) -> None:
        """ ".reg .b32 %r<9>", ".reg.pred P1, P2" or ".reg .v4 .s32 abcd", whose parts are abcd.x, …"""
        vector, kind, names = REGISTERS.fullmatch(text).groups()  # type: ignore[union-attr]
        for name in names.split(","):
            prefix, _, many = name.strip().partition("<")
            if vector:
                parts = [self.declare(f"{prefix}.{part}", "%") for part in "xyzw"[: int(vector)]]
                self.registers |= dict.fromkeys(parts, kind)
                self.scopes[prefix] = f"{{{', '.join(parts)}}}"
            else:
                self.registers[prefix if many else self.declare(prefix, "%")] = kind

    def instruction(self, text: str, line: int, location: ir.Location | None) -> ir.Instruction:
        found = INSTRUCTION.fullmatch(text)
        if found is None:
            raise MalformedPtx(f"line {line}: {text[:40]!r} is no instruction")
        negated, guard, opcode, rest = found.groups()
        if self.scopes:
            rest = re.sub(NAME, lambda name: self.unique(name[0]), rest)
        operands = tuple(map(read_operand, split(rest)))
        register = ir.Register(self.unique(guard)) if guard else None
        return ir.Instruction(opcode, operands, register, bool(negated), line, location)


def split(text: str) -> list[str]:
    """The operands between commas that are in no bracket."""
    return [operand.strip() for operand in OPERAND.findall(text) if operand.strip()]


@lru_cache(maxsize=4096)
def read_operand(text: str) -> ir.Operand:
    if text[0] in "{(":
        return ir.Vector(tuple(map(read_operand, split(text[1:-1]))))
    if text.startswith("["):
        return read_address(text[1:-1].strip())
    if text.startswith("!"):
        return ir.Not(ir.Register(text[1:]))
    if "|" in text:
        return ir.Vector(tuple(read_operand(part.strip()) for part in text.split("|")))
    if NUMBER.match(text):
        return ir.Immediate(text.rstrip("U"))
    if text.startswith("%"):
        return ir.Register(text)
    return ir.Symbol(text)


def read_address(text: str) -> ir.Address:
    found = INSIDE_ADDRESS.match(text)
    if found is None:
        raise MalformedPtx(f"[{text}] is no address")
    name, offset, coordinates = found.groups()
    base = read_operand(name or "0")
    if not isinstance(base, ir.Register | ir.Symbol | ir.Immediate):
        raise MalformedPtx(f"[{text}] is no address")
    inner = tuple(map(read_operand, split(coordinates))) if coordinates else ()
    return ir.Address(base, int(re.sub(r"[\s+]", "", offset or "0"), 0), inner)
