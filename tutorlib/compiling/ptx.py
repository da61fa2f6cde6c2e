"""Reading a GEMM's PTX: which instructions there are, how many, and in what order."""

import re
from collections.abc import Mapping
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
HOPPER_OPCODES = {
    "init": r"mbarrier\.init\b",
    "expect": r"mbarrier\.arrive\.expect_tx\b",
    "TMA load": r"cp\.async\.bulk\.tensor\.\dd\.shared\b",
    "wait": r"mbarrier\.try_wait\b",
    "wgmma.fence": r"wgmma\.fence\b",
    "wgmma": r"wgmma\.mma_async\b",
    "wgmma.commit": r"wgmma\.commit_group\b",
    "wgmma.wait": r"wgmma\.wait_group\b",
    "arrive": r"mbarrier\.arrive\.(?!expect_tx)",
    "bar.sync": OPCODES["bar.sync"],
    "stmatrix": r"stmatrix\b",
    "fence.proxy": r"fence\.proxy\.async\b(?!\.global)",  # of shared memory
    "bar.warp.sync": r"bar\.warp\.sync\b",
    "TMA store": r"cp\.async\.bulk\.tensor\.\dd\.global\b",
    "bulk commit": r"cp\.async\.bulk\.commit_group\b",
    "bulk wait": r"cp\.async\.bulk\.wait_group\b",
}
OF_HOPPER = ("expect", "TMA load", "wait", "arrive", "fence.proxy", "TMA store", "bulk commit", "bulk wait")
OF_TCGEN05 = ("alloc", "fence", "mma", "commit", "ld", "wait", "dealloc")
BLACKWELL_OPCODES = {name: HOPPER_OPCODES[name] for name in OF_HOPPER}
BLACKWELL_OPCODES |= {f"tcgen05.{name}": rf"tcgen05\.{name}\b" for name in OF_TCGEN05}


def allocated_columns(ptx: str, opcode: str = "alloc") -> list[int]:
    """Columns of tensor memory that each tcgen05.alloc, or .dealloc, of a text names; -1 where it is no constant."""
    found = []
    for place in re.finditer(rf"tcgen05\.{opcode}\.\S*\s+\S+, (\S+);", ptx):
        constants = re.findall(rf"mov\.[bu]32\s+{re.escape(place[1])}, (\d+);", ptx[: place.start()])
        found.append(int(constants[-1]) if constants else -1)
    return found


def opcodes(ptx: str, names: Mapping[str, str] = OPCODES) -> list[str]:
    """The names of a kernel's instructions, in the order of its text; others are left out."""
    lines = map(instruction, ptx.splitlines())
    return [name for line in lines for name, opcode in names.items() if re.match(opcode, line)]


def instruction(line: str) -> str:
    """A line of PTX without its predicate."""
    return re.sub(r"^\s*(?:@!?%\w+\s+)?", "", line)


def counts(ptx: str, names: Mapping[str, str] = OPCODES) -> str:
    """The number of lines of the text with each of the names."""
    found = opcodes(ptx, names)
    return "\n".join(f"{found.count(name):4} {name}" for name in names)


def story(ptx: str, names: Mapping[str, str] = OPCODES) -> str:
    """The text's instructions in order, runs of the same one together: "cp.async ×16 → wait_group → bar.sync"."""
    runs = ((name, len(list(run))) for name, run in groupby(opcodes(ptx, names)))
    return " → ".join(f"{name} ×{times}" if times > 1 else name for name, times in runs)
