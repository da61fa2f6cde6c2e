"""A row for each opcode with what is asked of it besides what it does to its operands (`opcodes` has that)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from tutorlib.simulate.ptx.ir import Instruction, parts_of
from tutorlib.simulate.ptx.types import bits_of, is_type

Ends = Literal["", "branch", "leave", "barrier", "arrival", "phase", "warpgroup", "cluster"]
Brings = Literal["", "mbarriers", "wgmma", "tcgen05"]
SPACES = frozenset({"shared", "global", "local", "param"})
WIDEST = 16  # bytes: no record of accesses is kept for larger pieces


@dataclass(frozen=True)
class Facts:
    """What an opcode asks of those that follow its threads, registers and memory.

    ends: how it ends a basic block: its threads go elsewhere, leave, or wait for others of their block, for a phase of
        an mbarrier, or for their warpgroup or cluster; at an "arrival" they are counted and go on.
    result: whether the first operand is one. effect: whether threads that poll memory may wait for it.
    looks: whether threads only look here at what they have, as between two tries to wait.
    gathers: whether a warp's lanes wait here for one another, so that one that is late delays the others.
    of_warp: whether each lane's result is of all lanes' operands.
    moves: the bytes of memory that a lane reads or writes at once, 0 where the type says; None: it does neither.
    stores: whether it only writes memory. narrow: whether it reads no more of a register than its type has.
    brings: what works beside the threads of a kernel that has it.
    """

    ends: Ends = ""
    result: bool = True
    effect: bool = False
    looks: bool = False
    gathers: bool = False
    of_warp: bool = False
    moves: int | None = None
    stores: bool = False
    narrow: bool = False
    brings: Brings = ""


ACTS = Facts(effect=True)
NO_RESULT = Facts(result=False)
ACTS_ALONE = Facts(result=False, effect=True)
OF_WARP, LOOKS = Facts(of_warp=True), Facts(looks=True)
COPIES = replace(ACTS_ALONE, moves=16)
BARRIERS = ("bar", "bar.cta", "barrier", "barrier.cta")

FACTS = {
    "bra": Facts("branch", result=False, looks=True),
    **dict.fromkeys(("selp", "setp", "mov", "not", "and", "or", "xor"), LOOKS),
    **dict.fromkeys(("ret", "exit", "trap"), Facts("leave", result=False)),
    **{f"{name}.sync": replace(ACTS_ALONE, ends="barrier") for name in BARRIERS},
    **{f"{name}.red": replace(ACTS_ALONE, ends="barrier", result=True) for name in BARRIERS},
    **{f"{name}.arrive": replace(ACTS_ALONE, ends="arrival") for name in BARRIERS},
    "bar.warp": Facts(result=False, gathers=True),
    "barrier.cluster.arrive": ACTS_ALONE,
    "barrier.cluster.wait": replace(ACTS_ALONE, ends="cluster"),
    "elect": Facts(gathers=True),
    "mbarrier": ACTS,
    "mbarrier.init": replace(ACTS, brings="mbarriers"),
    "mbarrier.try_wait": replace(ACTS, ends="phase"),
    "setmaxnreg": NO_RESULT,
    "ld": Facts(moves=0),
    "st": replace(ACTS_ALONE, moves=0, stores=True, narrow=True),
    "red": replace(ACTS_ALONE, moves=0),
    "atom": replace(ACTS, moves=0),
    "ldmatrix": Facts(of_warp=True, moves=16),
    "stmatrix": COPIES,
    "cp": COPIES,
    "cp.async.ca": replace(COPIES, moves=4),
    "cvt": Facts(narrow=True),
    "mma": Facts(of_warp=True),
    "wmma.load": Facts(moves=0),
    "wmma.store": Facts(of_warp=True, moves=0, stores=True),
    "wmma.mma": Facts(of_warp=True),
    "wgmma": ACTS,
    "wgmma.mma_async": replace(ACTS, ends="warpgroup", brings="wgmma"),
    "tcgen05": Facts(brings="tcgen05"),
    "tensormap": Facts(result=False, moves=8, stores=True),
    **dict.fromkeys(("shfl", "redux", "vote"), OF_WARP),
    **dict.fromkeys(("call", "membar", "fence"), NO_RESULT),
}
OTHERS = Facts()


def facts_of(instruction: Instruction) -> Facts:
    """The row that shares the most parts with the opcode."""
    return row_of(instruction.opcode)


@cache
def row_of(opcode: str) -> Facts:
    parts = parts_of(opcode)
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((FACTS[name] for name in names if name in FACTS), OTHERS)


def brings(instructions: Iterable[Instruction], agent: Brings) -> bool:
    return any(facts_of(one).brings == agent for one in instructions)


def touches(instruction: Instruction, space: str) -> bool:
    """Whether it may get at the space, by name or by a generic address."""
    named = SPACES.intersection(part.split("::")[0] for part in instruction.parts)
    return facts_of(instruction).moves is not None and (space in named or not named)


def smallest(instructions: Iterable[Instruction]) -> int:
    """The fewest bytes that one of these moves at once."""
    return min(map(width_of, instructions), default=WIDEST)


def width_of(instruction: Instruction) -> int:
    if moves := facts_of(instruction).moves:
        return moves
    kind = instruction.parts[-1]
    count = next((int(part[1:]) for part in instruction.parts if part in ("v2", "v4", "v8")), 1)
    return min(bits_of(kind) // 8 * count, WIDEST) if is_type(kind) else 1
