"""A compiled kernel: its resources (registers, memory), its instructions, and what a launch needs besides arguments."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from tutorlib.compiling import programs
from tutorlib.compiling.errors import ToolMissing
from tutorlib.compiling.programs import resources

# What the course asks for, by name: a pattern of PTX opcodes. Vectors of 128 bits: 4 × 32, 2 × 64 or 1 × 128.
WIDE = r"(v4\.[bfsu]32|v2\.[bfsu]64|b128)\b"
BY_THEIR_NAMES = """ld.global st.global ld.shared st.shared shfl.sync atom redux.sync lop3 mbarrier ldmatrix stmatrix
    mma.sync tcgen05.ld tcgen05.commit tcgen05.alloc tcgen05.dealloc"""
INSTRUCTIONS = {name: rf"{re.escape(name)}\b" for name in BY_THEIR_NAMES.split()} | {
    "ld.global.v4": rf"ld\.global\b\S*\.{WIDE}",
    "st.global.v4": rf"st\.global\b\S*\.{WIDE}",
    "ld.global after st.global": r"st\.global\b[\s\S]*\sld\.global\b",  # in the order of the text
    "bar.sync": r"(bar|barrier)(\.cta)?\.sync\b",
    "a product of 32 bits (mul.lo.s32)": r"(mul|mad)\.lo\.[su]32\b",
    "atomic additions of floats": r"(atom|red)\.\S*\badd\S*\.(f16x2|bf16x2|f32|f64)\b",
    "cp.async": r"cp\.async\.c[ag]\b",
    "cp.async.bulk": r"cp\.async\.bulk\.(shared|global)\b",
    "cp.async.bulk.tensor": r"cp\.async\.bulk\.tensor\b",
    "fence.mbarrier_init": r"fence\.(mbarrier_init|proxy\.async)\b",  # the second does what the first does, and more
    "ldmatrix.trans": r"ldmatrix\b\S*\.trans\b",
    "wgmma": r"wgmma\.mma_async\b",
    "tcgen05": r"tcgen05\.mma\b",
    "tcgen05 pairs": r"tcgen05\.mma\.cta_group::2\b",
    "TMA multicast": r"cp\.async\.bulk\.tensor\.\S*multicast::cluster\b",
    "tensor cores": r"((wmma\.)?mma\.sync|wgmma\.mma_async|tcgen05\.mma)\b",
}


@dataclass(frozen=True)
class Compiled:
    """The compiled kernels of a host function; of several, the largest of each number.

    registers: for each thread.
    stack_bytes: local memory for each thread: arrays that cannot live in registers, and spilled registers.
    smem_bytes: shared memory for each block, static and dynamic.
    threads: of a block.
    instructions: names from INSTRUCTIONS that occur in the PTX.
    by_ptxas: whether ptxas is asked what is spilled; cuTile's compilers do not say it.
    """

    arch: str
    ptx: str = field(repr=False)
    cubin: bytes = field(repr=False)
    registers: int
    stack_bytes: int
    smem_bytes: int
    threads: int
    instructions: frozenset[str]
    by_ptxas: bool = False

    @cached_property
    def spill_bytes(self) -> int | None:
        """Bytes that each thread spills to local memory; None where no tool reports them.

        Where there is a stack, it takes a second: ptxas compiles the kernel once more.
        """
        if not (self.by_ptxas and self.stack_bytes):
            return 0 if self.by_ptxas else None
        with suppress(ToolMissing):
            return programs.spilled(self.ptx)
        return None

    @property
    def body(self) -> str:
        """The first kernel's instructions in PTX, without its parameters, declarations and blank lines."""
        name, text = re.findall(r"\.entry (\w+)\(.*?\n\{\n(.*?)\n\}", self.ptx, re.DOTALL)[0]
        lines = (" ".join(line.split()) for line in text.replace(f"{name}_", "").split("\n"))
        code = (line for line in lines if line and not line.startswith((".reg", ".loc", "//")))
        columns = re.findall(r"(?m)^((?:@\S+ )?\S+) ?(.*)$", "\n".join(code))  # opcode, with its predicate
        return "\n".join(
            opcode if opcode.endswith(":") else f"  {opcode:15} {operands}".rstrip() for opcode, operands in columns
        )

    def __str__(self) -> str:
        if self.spill_bytes is None:
            local = f"{self.stack_bytes:,} bytes of stack"
        else:
            local = f"{self.spill_bytes:,} bytes spilled" if self.spill_bytes else "no spills"
        smem = f"{self.smem_bytes:,} bytes of shared memory"
        return f"{self.arch}: {self.threads} threads, {self.registers} registers, {local}, {smem}"


def instructions_in(ptx: str) -> frozenset[str]:
    """Names from INSTRUCTIONS."""
    return frozenset(name for name, opcode in INSTRUCTIONS.items() if re.search(rf"(?m)\s{opcode}", ptx))


def inspect_kernel(arch: str, ptx: str, cubin: bytes, dynamic_smem: int, by_ptxas: bool) -> Compiled:
    """Read what else there is to know from the PTX and the cubin."""
    registers, stack, static_smem = resources(cubin)
    blocks = re.findall(r"\.(?:req|max)ntid (\d+)(?:, (\d+))?(?:, (\d+))?", ptx)
    threads = max((int(x) * int(y or 1) * int(z or 1) for x, y, z in blocks), default=0)
    smem = static_smem + dynamic_smem
    return Compiled(arch, ptx, cubin, registers, stack, smem, threads, instructions_in(ptx), by_ptxas)


LaunchGrid = tuple[int, ...]  # how many blocks along x, y and z


@dataclass(frozen=True)
class LaunchConfig:
    """A launch's configuration. block: threads of a block; a tile block counts as one.

    dynamic_smem: bytes. cluster: blocks of a cluster. cooperative: all blocks must run at once. overlapping: it may
    begin before the launch ahead of it has ended.
    """

    grid: LaunchGrid
    block: LaunchGrid = (1,)
    dynamic_smem: int = 0
    cluster: LaunchGrid = (1,)
    cooperative: bool = False
    overlapping: bool = False


OPCODES = {
    "cp.async": r"cp\.async\.c[ag]\b",
    "wait_group": r"cp\.async\.wait_group\b",
    "bar.sync": r"bar(?:rier)?(?:\.cta)?\.sync\b",
    "ldmatrix.x4": r"ldmatrix\b\S*\.x4\b",
    "mma.sync": r"mma\.sync\b",
    "st.shared": r"st\.shared\b",
    "st.global": r"st\.global\.b",
    "st.global.v4": r"st\.global\.v4\b",
}


def allocated_columns(ptx: str, opcode: str = "alloc") -> list[int]:
    """Columns of tensor memory that each tcgen05.alloc, or .dealloc, of a text names; -1 where it is no constant."""
    found = []
    for place in re.finditer(rf"tcgen05\.{opcode}\.\S*\s+\S+, (\S+);", ptx):
        constants = re.findall(rf"mov\.[bu]32\s+{re.escape(place[1])}, (\d+);", ptx[: place.start()])
        found.append(int(constants[-1]) if constants else -1)
    return found


def opcodes(ptx: str, names: Mapping[str, str] = OPCODES) -> list[str]:
    """The names of a kernel's instructions, in the order of its text; others are left out."""
    lines = re.sub(r"(?m)^\s*(?:@!?%\w+\s+)?", "", ptx).splitlines()  # without predicates
    return [name for line in lines for name, opcode in names.items() if re.match(opcode, line)]


def counts(ptx: str, names: Mapping[str, str] = OPCODES) -> str:
    """The number of lines of the text with each of the names."""
    found = opcodes(ptx, names)
    return "\n".join(f"{found.count(name):4} {name}" for name in names)


def story(ptx: str, names: Mapping[str, str] = OPCODES) -> str:
    """The text's instructions in order, runs of the same one together: "cp.async ×16 → wait_group → bar.sync"."""
    runs = ((name, len(list(run))) for name, run in groupby(opcodes(ptx, names)))
    return " → ".join(f"{name} ×{times}" if times > 1 else name for name, times in runs)
