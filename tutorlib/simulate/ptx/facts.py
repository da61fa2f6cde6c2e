"""A row for each opcode with what is asked of it besides what it does to its operands (`opcodes` has that)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from tutorlib.simulate.ptx.ir import Instruction, parts_of

Ends = Literal["", "branch", "leave", "barrier", "arrival", "phase", "warpgroup", "cluster", "registers"]
Doing = Literal[
    "issue", "commit", "wait", "barrier", "read", "write", "math", "load", "store", "bulk load", "phase", "arrive"
]


@dataclass(frozen=True)
class Facts:
    """What an opcode asks of those that follow its threads, registers and pictures.

    ends: how it ends a basic block: its threads go elsewhere, leave, or wait for others of their block, for a phase of
        an mbarrier, for their warpgroup or cluster, or for registers; at an "arrival" they are counted and go on.
    result: whether the first operand is one. effect: whether threads that poll memory may wait for it.
    looks: whether threads only look here at what they have, as between two tries to wait.
    gathers: whether a warp's lanes wait here for one another, so that one that is late delays the others.
    of_warp: whether each lane's result is of all lanes' operands.
    draws: what a picture shows of it, by the first state space in the opcode, "" for any.
    """

    ends: Ends = ""
    result: bool = True
    effect: bool = False
    looks: bool = False
    gathers: bool = False
    of_warp: bool = False
    draws: Mapping[str, Doing] = field(default_factory=dict)


def drawn(does: Doing) -> Mapping[str, Doing]:
    return {"": does}


WAITS_FOR_BLOCK = Facts("barrier", result=False, effect=True, draws=drawn("barrier"))
REDUCES_IN_BLOCK = Facts("barrier", effect=True, draws=drawn("barrier"))
ARRIVES = Facts("arrival", result=False, effect=True, draws=drawn("barrier"))
LEAVES = Facts("leave", result=False)
OF_WARP = Facts(of_warp=True)
LOOKS = Facts(looks=True)
NO_RESULT = Facts(result=False)

FACTS = {
    "bra": Facts("branch", result=False, looks=True),
    **dict.fromkeys(("selp", "setp", "mov", "not", "and", "or", "xor"), LOOKS),
    **dict.fromkeys(("ret", "exit", "trap"), LEAVES),
    **dict.fromkeys(("bar.sync", "bar.cta.sync", "barrier.sync", "barrier.cta.sync"), WAITS_FOR_BLOCK),
    **dict.fromkeys(("bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"), REDUCES_IN_BLOCK),
    **dict.fromkeys(("bar.arrive", "bar.cta.arrive", "barrier.arrive", "barrier.cta.arrive"), ARRIVES),
    "bar.warp": Facts(result=False, gathers=True, draws=drawn("barrier")),
    "barrier.cluster.arrive": Facts(result=False, effect=True, draws=drawn("barrier")),
    "barrier.cluster.wait": Facts("cluster", result=False, effect=True, draws=drawn("barrier")),
    "elect": Facts(gathers=True),
    "mbarrier": Facts(effect=True),
    "mbarrier.arrive": Facts(effect=True, draws=drawn("arrive")),
    "mbarrier.try_wait": Facts("phase", effect=True, draws=drawn("phase")),
    "setmaxnreg.inc": Facts("registers"),
    "clusterlaunchcontrol": Facts(effect=True),
    "ld": Facts(draws={"shared": "read", "global": "load"}),
    "st": Facts(result=False, effect=True, draws={"shared": "write", "global": "store"}),
    "red": Facts(result=False, effect=True, draws={"global": "store"}),
    "atom": Facts(effect=True, draws={"global": "store"}),
    "ldmatrix": Facts(draws=drawn("read")),
    "stmatrix": Facts(result=False, effect=True, draws=drawn("write")),
    "cp": Facts(result=False, effect=True),
    **dict.fromkeys(("cp.async.ca", "cp.async.cg"), Facts(result=False, effect=True, draws=drawn("issue"))),
    "cp.async.commit_group": Facts(result=False, effect=True, draws=drawn("commit")),
    **dict.fromkeys(
        ("cp.async.wait_group", "cp.async.wait_all"), Facts(result=False, effect=True, draws=drawn("wait"))
    ),
    "cp.async.bulk.tensor.2d": Facts(result=False, effect=True, draws={"shared": "bulk load", "global": "store"}),
    "fma": Facts(draws=drawn("math")),
    "mma": Facts(of_warp=True, draws=drawn("math")),
    "wmma": OF_WARP,
    "wmma.mma": Facts(of_warp=True, draws=drawn("math")),
    "wgmma": Facts(effect=True),
    "wgmma.mma_async": Facts("warpgroup", effect=True, draws=drawn("math")),
    "wgmma.wait_group": Facts(effect=True, draws=drawn("wait")),
    **dict.fromkeys(("shfl", "movmatrix", "redux", "vote", "match"), OF_WARP),
    **dict.fromkeys(("call", "tensormap", "membar", "fence"), NO_RESULT),
}
OTHERS = Facts()


def facts_of(instruction: Instruction) -> Facts:
    """The row that shares the most parts with the opcode."""
    return facts_by_name(instruction.opcode)


@cache
def facts_by_name(opcode: str) -> Facts:
    parts = parts_of(opcode)
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((FACTS[name] for name in names if name in FACTS), OTHERS)


def doing(instruction: Instruction) -> Doing | None:
    """What a picture shows of an instruction, if anything."""
    draws = facts_of(instruction).draws
    spaces = (part.split("::")[0] for part in instruction.parts)
    return draws.get("") or next((draws[space] for space in spaces if space in draws), None)
