"""Basic blocks, and the order in which they are run so that threads that parted meet again; and the registers that an
instruction reads and writes, of which some may be read before anything sets them.

Of the threads that are ready, those whose block comes first in the order run first. The order puts a block behind all
that lead to it, and a loop's blocks before all that lie behind the loop: so threads that leave a branch or a loop
early wait where the others will come by, which is the earliest place where they can meet.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from math import inf

from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.ir import Address, Instruction, Kernel, Not, Operand, Register, Symbol, Vector
from tutorlib.simulate.ptx.opcode_facts import facts_of


@dataclass(frozen=True)
class BasicBlock:
    """Instructions start … end - 1, of which only the last may go elsewhere.

    target: the block that a branch goes to; following: the next one in the text. None where there is none.
    """

    start: int
    end: int
    target: int | None
    following: int | None

    @property
    def successors(self) -> tuple[int, ...]:
        return tuple(n for n in (self.target, self.following) if n is not None)


def basic_blocks(kernel: Kernel) -> tuple[BasicBlock, ...]:
    instructions = kernel.instructions
    starts = {0, *kernel.labels.values()}
    starts |= {n + 1 for n, instruction in enumerate(instructions) if facts_of(instruction).ends}
    if any(facts_of(one).ends == "phase" for one in instructions):  # elsewhere no lane of a warp is held up alone
        starts |= {n for n, instruction in enumerate(instructions) if facts_of(instruction).gathers}
    edges = [*sorted(n for n in starts if n < len(instructions)), len(instructions)]
    number = {start: block for block, start in enumerate(edges)}
    blocks = []
    for start, end in pairwise(edges):
        last = instructions[end - 1]
        ends = facts_of(last).ends
        target = None
        if ends == "branch":
            (label,) = last.operands
            if not isinstance(label, Symbol):
                raise NotSimulated(f"{last} to a computed place", last.line)
            target = number[kernel.labels[label.name]]
        goes_on = last.guard is not None or ends not in ("branch", "leave")
        following = number[end] if goes_on and end < len(instructions) else None
        blocks.append(BasicBlock(start, end, None if target == len(edges) - 1 else target, following))
    return tuple(blocks)


def comes_back(blocks: Sequence[BasicBlock], instructions: Sequence[Instruction], block: BasicBlock) -> bool:
    """Whether a way leads from a block's end to its start on which threads only look at what it has computed."""
    passed: set[int] = set()
    ahead = list(block.successors)
    while ahead:
        number = ahead.pop()
        if blocks[number] is block:
            return True
        inside = instructions[blocks[number].start : blocks[number].end]
        if number not in passed and all(facts_of(one).looks for one in inside):
            passed.add(number)
            ahead += blocks[number].successors
    return False


def execution_order(successors: Sequence[Sequence[int]]) -> list[int]:
    """Each block's place in the order, a weak topological one: of strongly connected blocks, that is a loop, each lies
    behind the one by which it is entered, and before all that lie behind the loop (Bourdoncle, Efficient chaotic
    iteration strategies with widenings, FMPA 1993, figure 4)."""
    seen = [0.0] * len(successors)  # when each was visited; 0: not yet; inf: it has its place
    visits, stack = count(1), list[int]()

    def visit(block: int, backwards: list[int]) -> float:
        """Put a block and all that it leads to there, the last first. When the earliest was visited that leads back."""
        stack.append(block)
        now = first = seen[block] = float(next(visits))
        loops = False
        for after in successors[block]:
            reached = seen[after] or visit(after, backwards)
            if reached <= first:
                first, loops = reached, True
        if first == now:
            inside: list[int] = []
            while (one := stack.pop()) != block:
                seen[one] = 0
            seen[block] = inf
            for after in successors[block] if loops else ():
                if not seen[after]:
                    visit(after, inside)
            backwards += [*inside, block]
        return first

    limit, order = sys.getrecursionlimit(), list[int]()
    sys.setrecursionlimit(limit + 2 * len(successors))
    try:
        for block in range(len(successors)):
            if not seen[block]:
                visit(block, order)
    finally:
        sys.setrecursionlimit(limit)
    places = [0] * len(order)
    for at, block in enumerate(reversed(order)):
        places[block] = at
    return places


def written(instruction: Instruction) -> list[str]:
    """The registers that an instruction's results go to."""
    if not instruction.operands or not facts_of(instruction).result:
        return []
    return register_names(instruction.operands[0], addresses=False)


def read(instruction: Instruction) -> list[str]:
    """The registers that an instruction reads, those of addresses among them."""
    operands = instruction.operands
    given = operands[1:] if facts_of(instruction).result else operands
    found = [name for operand in given for name in register_names(operand, addresses=True)]
    return found + ([instruction.guard.name] if instruction.guard else [])


def register_names(operand: Operand, addresses: bool) -> list[str]:
    match operand:
        case Register(name) | Not(Register(name)):
            return [name]
        case Vector(items):
            return [name for item in items for name in register_names(item, addresses)]
        case Address(base, _, coordinates) if addresses:
            return [name for item in (base, *coordinates) for name in register_names(item, addresses)]
    return []


def unset_at_first(kernel: Kernel, blocks: Sequence[BasicBlock]) -> frozenset[str]:
    """The registers that on some way through the kernel are read before they are written.

    Those that are live where it begins. A write under a predicate may not happen, so it does not count. What wgmma adds
    to, and whether it does, `warpgroups` looks at.
    """
    if not blocks:
        return frozenset()
    needs, sets = zip(*(needs_and_sets(kernel.instructions[block.start : block.end]) for block in blocks), strict=True)
    live = [set(names) for names in needs]
    before: list[set[int]] = [set() for _ in blocks]
    for number, block in enumerate(blocks):
        for following in block.successors:
            before[following].add(number)
    changed = set(range(len(blocks)))
    while changed:
        number = changed.pop()
        for earlier in before[number]:
            more = live[number] - sets[earlier] - live[earlier]
            if more:
                live[earlier] |= more
                changed.add(earlier)
    return frozenset(name for name in live[0] if kernel.type_of(name))


def needs_and_sets(instructions: Sequence[Instruction]) -> tuple[set[str], set[str]]:
    """The registers that a basic block reads before it writes them, and those that it writes."""
    needs: set[str] = set()
    sets: set[str] = set()
    for instruction in instructions:
        needs.update(name for name in read(instruction) if name not in sets)
        if instruction.guard is None:
            sets.update(written(instruction))
    return needs, sets
