"""Undetermined values, followed until they count.

A value from shared memory never written, or from a register never set, may be computed with: a pipeline fetches a
buffer ahead that it never uses, a block computes rows that its matrix does not have. It is a fault when what comes of
it is stored in global memory or decides something. Shared memory that it is stored to becomes undefined again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.flow import read, register_names, written
from tutorlib.simulate.ptx.geometry import WARP, Geometry, source_lanes
from tutorlib.simulate.ptx.ir import Address, Immediate, Instruction, Operand, Register, Vector
from tutorlib.simulate.ptx.opcode_facts import facts_of
from tutorlib.simulate.ptx.types import bits_of, is_type

ALL = np.uint8(0xFF)  # bytes of a register
CHOSEN = 2  # operands of which a selp takes one


@dataclass
class Origin:
    """The source of undefined values: a finding, if they are used.

    site: where they were read or, of registers that were never set, first computed with; -1: not yet.
    bytes: for each lane, which bytes of its register are undefined, one bit each.
    """

    kind: Hazard
    site: int
    message: str
    bytes: np.ndarray

    @property
    def lanes(self) -> np.ndarray:
        """Whose registers hold them."""
        return self.bytes != 0


@dataclass
class Undefined:
    """held: the undefined values in registers, by the register's name.

    storage: gives a register's numbers. unset: registers that may be read before they are set.
    spilled: what undefined values have been stored to shared memory, by the store's site; storing: the lanes for which
        the store that comes now does so.
    """

    geometry: Geometry
    findings: Findings
    storage: Callable[[Register], np.ndarray]
    unset: frozenset[str] = frozenset()
    held: dict[str, Origin] = field(default_factory=dict)
    spilled: dict[int, Origin] = field(default_factory=dict)
    storing: np.ndarray | None = None

    def restart(self, alive: np.ndarray) -> None:
        """A batch begins, of these lanes."""
        self.held = {name: Origin(Hazard.UNSET, -1, "", every_byte(alive)) for name in self.unset}

    def note(self, kind: Hazard, site: int, names: list[str], lanes: np.ndarray, message: str) -> None:
        """An instruction has read memory never written into these registers, for these lanes (booleans)."""
        for name in names:
            self.held[name] = Origin(kind, site, message, every_byte(lanes))

    def read_back(self, names: list[str], lanes: np.ndarray, stored_at: int) -> bool:
        """These registers hold what that store has put into memory, if that was undefined."""
        if origin := self.spilled.get(stored_at):
            self.held |= dict.fromkeys(names, replace(origin, bytes=every_byte(lanes)))
        return stored_at in self.spilled

    def before(self, site: int, instruction: Instruction, lanes: np.ndarray, active: np.ndarray) -> None:
        """Look at what an instruction is about to read and write.

        lanes: that come by; active: those of them for which its predicate holds.
        """
        looked_at, origins = bytes_read(instruction), map(self.held.get, read(instruction))
        used = [origin for origin in origins if origin and (origin.bytes[active] & looked_at).any()]
        if instruction.guard and (decides := self.held.get(instruction.guard.name)):
            self.report(site, instruction, decides, lanes)
        if used and (stored := self.stored(instruction)):
            self.storing = np.logical_and.reduce([origin.lanes for origin in stored]) & active
            self.spilled[site] = self.met(site, instruction, stored[0], active)
            active = active & ~self.storing
        if used and matters(instruction, self.held):
            for origin in used:
                self.report(site, instruction, origin, active)
        coming = self.coming(site, instruction, used, active) if used else {}
        for name in written(instruction):
            if undefined := coming.get(name):
                parts = [bits for _, bits in undefined]
                self.held[name] = replace(undefined[0][0], bytes=np.bitwise_or.reduce(parts))
            elif name in self.held:
                self.held[name] = replace(self.held[name], bytes=np.where(active, 0, self.held[name].bytes))
                if not self.held[name].bytes.any():
                    del self.held[name]

    def coming(
        self, site: int, instruction: Instruction, used: list[Origin], active: np.ndarray
    ) -> dict[str, list[tuple[Origin, np.ndarray]]]:
        """What comes to each result: origins, each with the bytes that come from it. Of several the first is told."""
        if moved := bytes_moved(instruction):
            return {
                name: [
                    (origin, bits << n)
                    for n, (source, byte) in enumerate(sources)
                    if (origin := self.held.get(source)) and (bits := origin.bytes >> byte & active).any()
                ]
                for name, sources in moved.items()
            }
        chooses = instruction.operands[-1] if instruction.parts[0] == "selp" else None
        if not isinstance(chooses, Register):
            origin = self.met(site, instruction, used[0], active)
            given = [(origin, every_byte(spread(instruction, used, active)))]
        else:  # what a selp does not take need not be determined; what decides must be
            first = self.storage(chooses)
            taken = zip(instruction.operands[1:], (active & first, active & ~first, active), strict=True)
            given = [
                (origin, np.where(lanes, origin.bytes if n < CHOSEN else every_byte(origin.lanes), 0))
                for n, (operand, lanes) in enumerate(taken)
                for origin in map(self.held.get, register_names(operand, addresses=False))
                if origin and (origin.lanes & lanes).any()
            ]
        return dict.fromkeys(written(instruction), given)

    def stored(self, instruction: Instruction) -> list[Origin]:
        """The origins of what a store to shared memory stores, if all of it is undefined, and where it goes is not."""
        if instruction.parts[0] != "st" or not any(part.startswith("shared") for part in instruction.parts):
            return []
        to, values = instruction.operands
        items = values.items if isinstance(values, Vector) else (values,)
        origins = [self.held[item.name] for item in items if isinstance(item, Register) and item.name in self.held]
        somewhere = any(name in self.held for name in register_names(to, addresses=True))
        return [] if somewhere or len(origins) < len(items) else origins

    def report(self, site: int, instruction: Instruction, origin: Origin, lanes: np.ndarray) -> None:
        if (origin.lanes & lanes).any():
            known = self.met(site, instruction, origin, lanes)
            self.findings.notice(known.kind, known.site, known.message, int((origin.lanes & lanes).sum()))

    def met(self, site: int, instruction: Instruction, origin: Origin, lanes: np.ndarray) -> Origin:
        """The origin with the place where a register that was never set is used first."""
        if origin.site >= 0:
            return origin
        lane = int((origin.lanes & lanes).argmax())
        says = f"{self.geometry.show_thread(lane)} uses a register ({instruction}) that was never set"
        return replace(origin, site=site, message=says)


def every_byte(lanes: np.ndarray) -> np.ndarray:
    """All bytes of these lanes' registers."""
    return lanes * ALL


def bytes_read(instruction: Instruction) -> np.uint8:
    """The bytes of a register that an instruction looks at: a narrow store or conversion takes the lowest ones."""
    if facts_of(instruction).narrow and is_type(instruction.parts[-1]):
        return np.uint8((1 << bits_of(instruction.parts[-1]) // 8) - 1)
    return ALL


def bytes_moved(instruction: Instruction) -> dict[str, list[tuple[str, int]]]:
    """Of mov, and of prmt by a constant: the register and the byte of it that each byte of a result comes from."""
    first, kind, operands = instruction.parts[0], instruction.parts[-1], instruction.operands
    if first == "mov":
        to, of = (operand.items if isinstance(operand, Vector) else (operand,) for operand in operands)
        width = max(bits_of(kind) // 8, 1)
        bytes_ = bytes_of(of, width // len(of))
        each = width // len(to)
        return {item.name: bytes_[n * each :][:each] for n, item in enumerate(to) if isinstance(item, Register)}
    match instruction.parts, operands:
        case ("prmt", _), (Register(name), a, b, Immediate(selector)):
            bytes_, picks = bytes_of((a, b), 4), int(selector.rstrip("U"), 0)
            return {name: [bytes_[picks >> 4 * n & 7] for n in range(4)]}
    return {}


def bytes_of(operands: Sequence[Operand], each: int) -> list[tuple[str, int]]:
    """Of registers side by side, `each` bytes of one; constants have no name."""
    names = (operand.name if isinstance(operand, Register) else "" for operand in operands)
    return [(name, n) for name in names for n in range(each)]


def matters(instruction: Instruction, held: dict[str, Origin]) -> bool:
    """Whether an undefined value matters here: it is stored, or says where something lies."""
    if not facts_of(instruction).result or instruction.parts[0] == "atom":
        return True
    addresses = (operand for operand in instruction.operands if isinstance(operand, Address))
    return any(name in held for operand in addresses for name in register_names(operand, addresses=True))


def spread(instruction: Instruction, origins: list[Origin], active: np.ndarray) -> np.ndarray:
    """The lanes whose result is undefined."""
    lanes = np.logical_or.reduce([origin.lanes & active for origin in origins])
    match instruction.parts, instruction.operands:
        case ("shfl", _, mode, *_), (_, _, Immediate(by), Immediate(limits), *_):
            source, _ = source_lanes(mode, *(np.array(int(text, 0)) for text in (by, limits)))
            return lanes.reshape(-1, WARP)[:, source].reshape(-1) & active
    if facts_of(instruction).of_warp:
        return np.repeat(lanes.reshape(-1, WARP).any(1), WARP) & active
    return lanes
