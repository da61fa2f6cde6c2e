"""An instruction bound to the arrays of a batch: its suffixes, its operands, and the lanes that run it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.ir import Address, Immediate, Instruction, Not, Operand, Register, Symbol, Vector
from tutorlib.simulate.ptx.mbarriers import SharedPlace
from tutorlib.simulate.ptx.memory import PEER_BITS
from tutorlib.simulate.ptx.state import State, Step, Where, as_index, of_warps
from tutorlib.simulate.ptx.types import bits_of, is_type, numpy_type

Addresses = Callable[[], np.ndarray]  # of all lanes, or the one of them all
LaneValues = Callable[[np.ndarray], np.ndarray]  # of these lanes
SharedPlaces = Callable[[np.ndarray], list[SharedPlace]]  # of these lanes


@dataclass(frozen=True)
class Operation:
    """site: the instruction's number in its kernel."""

    instruction: Instruction
    site: int
    state: State

    # suffixes ---------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[str, ...]:
        return self.instruction.parts

    @property
    def words(self) -> list[str]:
        """The opcode's parts without what follows a "::"."""
        return [part.split("::")[0] for part in self.parts]

    @property
    def kind(self) -> str:
        """The type at the end of the opcode: "s32"."""
        self.need(is_type(self.parts[-1]))
        return self.parts[-1]

    def one_of(self, names: str) -> str:
        """The first suffix among these names. Raises StopIteration if there is none."""
        return next(part for part in self.parts[1:] if part in names.split())

    def need(self, holds: object) -> None:
        """Raises NotSimulated unless the condition holds."""
        if not holds:
            raise NotSimulated(str(self.instruction), self.instruction.line)

    def need_known(self, names: str) -> None:
        """Raises NotSimulated for a suffix that is neither among these names nor a type."""
        self.need(not {word for word in self.words[1:] if not is_type(word)} - set(names.split()))

    # operands ---------------------------------------------------------------------------------------------------

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.instruction.operands

    def operand(self, which: int | Operand) -> Operand:
        return self.operands[which] if isinstance(which, int) else which

    def source(self, which: int | Operand, kind: str) -> np.ndarray:
        """An operand, or that of this number, looked at as a PTX type: an array for all lanes, or of one element for
        all of them."""
        match self.operand(which):
            case Register(name) if name.startswith("%") and self.state.is_special(name):
                return narrowed(self.state.special.setdefault(name, self.state.special_values(name)), kind)
            case Register() as register:
                return narrowed(self.state.storage(register), kind)
            case Immediate(text):
                return constant(text, kind)
            case Symbol(name) if name in self.state.symbols:
                return np.array([self.state.symbols[name]], numpy_type(kind))
        raise self.unknown(which)

    def unknown(self, which: int | Operand) -> NotSimulated:
        return NotSimulated(f"the operand {self.operand(which)} of {self.instruction}", self.instruction.line)

    def sources(self, which: int | Operand, kind: str) -> list[np.ndarray]:
        """Of the items of a vector, or of one register."""
        return [self.source(item, kind) for item in items_of(self.operand(which))]

    def target(self, which: int | Operand, kind: str) -> np.ndarray:
        """The destination of a result of this type. A wider register is set whole, extended as the type's sign asks."""
        operand = self.operand(which)
        if operand == Symbol("_"):
            return np.empty(self.state.geometry.lanes, numpy_type(kind))
        if not isinstance(operand, Register):
            raise self.unknown(which)
        storage = self.state.storage(operand)
        if kind == "pred" or storage.dtype == np.bool_:
            return storage
        if storage.itemsize * 8 > bits_of(kind):
            return storage.view(f"{'i' if kind[0] == 's' else 'u'}{storage.itemsize}")
        return storage.view(numpy_type(kind))

    def register_names(self, which: int) -> tuple[str, ...]:
        """Of a vector of nothing but registers. Raises ValueError for another operand."""
        items = items_of(self.operands[which])
        names = tuple(item.name for item in items if isinstance(item, Register))
        if len(names) < len(items):
            raise ValueError(f"{self.operands[which]} has other items than registers")
        return names

    def targets(self, which: int | Operand, kind: str) -> list[np.ndarray]:
        return [self.target(item, kind) for item in items_of(self.operand(which))]

    def target_pair(self, kind: str) -> tuple[np.ndarray, np.ndarray | None]:
        """The destination of a result, and of the predicate that may come with it: `d` or `d|p`."""
        first, *second = items_of(self.operands[0])
        return self.target(first, kind), self.target(second[0], "pred") if second else None

    def predicate(self, which: int | Operand) -> Callable[[], np.ndarray]:
        """A boolean operand, which may be negated."""
        operand = self.operand(which)
        values = self.source(operand.register if isinstance(operand, Not) else operand, "pred")
        return (lambda: ~values) if isinstance(operand, Not) else lambda: values

    def immediate(self, which: int) -> int:
        """A number in the text. Raises ValueError for another operand."""
        operand = self.operands[which]
        if not isinstance(operand, Immediate):
            raise ValueError(f"{operand} is no number")
        return int(operand.text, 0)

    def addresses(self, which: int | Operand) -> Addresses:
        """[base + offset] for all lanes, or for one where it is the same for all; 64 bits."""
        operand, state = self.operand(which), self.state
        if not isinstance(operand, Address):
            raise self.unknown(which)
        base = operand.base
        if isinstance(base, Register) and state.storage(base).itemsize == 4 and not state.is_special(base.name):
            narrow, values = np.array([operand.offset % 2**32], np.uint32), state.storage(base)
            return lambda: values + narrow
        offset, wide = np.array([operand.offset % 2**64], np.uint64), self.source(base, "u64")
        return lambda: wide + offset

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of all lanes, of an operand that may have one for all of them."""
        return values if len(values) > 1 else np.broadcast_to(values, self.state.geometry.lanes)

    def values(self, which: int | Operand, kind: str) -> LaneValues:
        """1 for an operand that is left out."""
        if isinstance(which, int) and which >= len(self.operands):
            return lambda lanes: np.ones(len(lanes), np.int64)
        found = self.source(which, kind)
        return lambda lanes: self.spread(found)[lanes].astype(np.int64)

    def addresses_of_lanes(self, which: int | Operand) -> LaneValues:
        found = self.addresses(which)
        return lambda lanes: self.spread(found())[lanes].astype(np.int64)

    def places(self, which: int) -> SharedPlaces:
        """The place in shared memory that an operand names, which may be a generic address: whose that is, and where.

        It is of the lane's own block, or of a peer (`mapa`).
        """
        found, slot, cluster = self.addresses_of_lanes(which), self.state.slot, self.state.geometry.cluster_size

        def of(lanes: np.ndarray) -> list[SharedPlace]:
            at, slots = found(lanes) & 0xFFFFFFFF, slot[lanes]
            rank = at >> PEER_BITS
            slots = np.where(rank == 0, slots, slots - slots % cluster + rank - 1)
            return list(zip(slots.tolist(), (at & (1 << PEER_BITS) - 1).tolist(), strict=True))

        return of

    # lanes ------------------------------------------------------------------------------------------------------

    def lanes(self, where: Where) -> np.ndarray:
        """The numbers of the lanes that run the instruction."""
        return np.arange(self.state.geometry.lanes)[as_index(where)]

    def warps(self, where: Where) -> np.ndarray:
        """The warps that run an instruction which all of their threads must run together (.aligned)."""
        if where is True:
            return np.arange(len(of_warps(self.state.alive)))
        runs = of_warps(where)
        numbers = np.flatnonzero(runs.any(1))
        partly = ~(runs | ~of_warps(self.state.alive))[numbers].all(1)
        if partly.any():
            who = self.state.geometry.show_warp(int(numbers[partly.argmax()]))
            what = f"{self.parts[0]} is for whole warps, and threads of {who} took another branch"
            self.notice(Hazard.DIVERGENT, what, int(partly.sum()))
        return numbers

    def by_lanes(self, does: Callable[[np.ndarray], object]) -> Step:
        """A step that gives the lanes that run it to a function."""
        return lambda where: does(self.lanes(where))

    def by_warps(self, does: Callable[[np.ndarray], object]) -> Step:
        return lambda where: does(self.warps(where))

    # findings ---------------------------------------------------------------------------------------------------

    def notice(self, fault: Hazard | Fault, says: str, count: int = 1) -> None:
        self.state.findings.notice(fault, self.site, says, count)

    def notice_thread(self, fault: Hazard | Fault, lane: int, what: str, count: int = 1) -> None:
        """what: follows the thread's name in a sentence."""
        self.notice(fault, f"{self.state.geometry.show_thread(lane)} {what}", count)


OpcodeDecoder = Callable[[Operation], Step]


def items_of(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def narrowed(storage: np.ndarray, kind: str) -> np.ndarray:
    """A register looked at as a type that is as wide, or as its low bits."""
    if kind == "pred" or storage.dtype == np.bool_:
        return storage
    bits = bits_of(kind)
    if storage.itemsize * 8 == bits:
        return storage.view(numpy_type(kind))
    return storage.view(numpy_type(kind))[:: storage.itemsize * 8 // bits]


def constant(text: str, kind: str) -> np.ndarray:
    """A number as one element of a PTX type. 0f… and 0d… are the bits of a float (PTX ISA, 4.5.2)."""
    if kind == "pred":
        return np.array([int(text, 0) != 0])
    dtype, lower = np.dtype(numpy_type(kind)), text.lower()
    if lower.startswith(("0f", "0d")) and len(text) in (10, 18):
        width = len(text) // 2 - 1
        bits = np.array([int(text[2:], 16)], f"u{width}")
        return (bits.view(f"f{width}") if dtype.kind == "f" else bits).astype(dtype)
    if dtype.kind == "f" and ("." in text or "e" in lower):
        return np.array([float(text)], dtype)
    number = int(float(text)) if "." in text else int(text, 0)
    return np.array([number % (1 << bits_of(kind))], f"u{dtype.itemsize}").view(dtype)
