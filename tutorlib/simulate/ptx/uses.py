"""Which registers an instruction reads and writes, and which of a kernel's may be read before anything sets them."""

from collections.abc import Sequence

from tutorlib.simulate.ptx.facts import facts_of
from tutorlib.simulate.ptx.flow import BasicBlock
from tutorlib.simulate.ptx.ir import Address, Instruction, Kernel, Not, Operand, Register, Vector


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
    return frozenset(name for name in live[0] if kernel.declares(name))


def needs_and_sets(instructions: Sequence[Instruction]) -> tuple[set[str], set[str]]:
    """The registers that a basic block reads before it writes them, and those that it writes."""
    needs: set[str] = set()
    sets: set[str] = set()
    for instruction in instructions:
        needs.update(name for name in read(instruction) if name not in sets)
        if instruction.guard is None:
            sets.update(written(instruction))
    return needs, sets
