"""Reading a GEMM's PTX: which instructions there are, how many, and in what order."""

import re
from itertools import groupby

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


def opcodes(ptx: str) -> list[str]:
    """The names in OPCODES of a kernel's instructions, in the order of its text; others are left out."""
    lines = map(instruction, ptx.splitlines())
    return [name for line in lines for name, opcode in OPCODES.items() if re.match(opcode, line)]


def instruction(line: str) -> str:
    """A line of PTX without its predicate."""
    return re.sub(r"^\s*(?:@!?%\w+\s+)?", "", line)


def counts(ptx: str) -> str:
    """How often each of OPCODES stands in the text, a line each."""
    found = opcodes(ptx)
    return "\n".join(f"{found.count(name):4} {name}" for name in OPCODES)


def story(ptx: str) -> str:
    """The text's instructions in order, runs of the same one together: "cp.async ×16 → wait_group → bar.sync"."""
    runs = ((name, len(list(run))) for name, run in groupby(opcodes(ptx)))
    return " → ".join(f"{name} ×{times}" if times > 1 else name for name, times in runs)
