"""mbarriers, and a ring of stages between a producer and a consumer, one instruction at a time."""

from dataclasses import dataclass, field, replace
from typing import Literal

KIB = 1024
OPERANDS = {"A": 16 * KIB, "B": 32 * KIB}  # bytes of a stage: tiles of 128×64 and 256×64 in bf16


@dataclass(frozen=True)
class Mbarrier:
    """A counter in shared memory. A phase is complete when no arrival and no announced byte is missing.

    count: the arrivals that each phase needs. missing: of this phase. pending: bytes announced and not yet there; below
    0 where they came unannounced. phase: how many are over; a wait asks for its parity.
    """

    count: int
    missing: int
    pending: int = 0
    phase: int = 0

    def arrive(self, announced: int = 0) -> "Mbarrier":
        """One arrival, with bytes to expect. Raises ValueError where the phase has had all of its arrivals."""
        if not self.missing:
            raise ValueError("an arrival too many")
        return replace(self, missing=self.missing - 1, pending=self.pending + announced).turned()

    def deliver(self, size: int) -> "Mbarrier":
        """TMA has written this number of bytes."""
        return replace(self, pending=self.pending - size).turned()

    def turned(self) -> "Mbarrier":
        """In its next phase, if this one is over."""
        return self if self.missing or self.pending else Mbarrier(self.count, self.count, 0, self.phase + 1)

    def lets_pass(self, parity: int) -> bool:
        """Whether a wait for the phase of this parity returns: it is over, and this is the one after it."""
        return self.phase % 2 != parity


def fresh(count: int) -> Mbarrier:
    """As mbarrier_init leaves it."""
    return Mbarrier(count, count)


@dataclass
class RingPlace:
    """One side's position in the ring, as in CuTe's PipelineState. count: steps so far.

    instruction: the number of its loop's next.
    """

    stages: int
    phase: int
    index: int = 0
    count: int = 0
    instruction: int = 0

    def advance(self) -> None:
        self.index, self.count = (self.index + 1) % self.stages, self.count + 1
        self.phase ^= self.index == 0


@dataclass(frozen=True)
class Transfer:
    """One operand's tile in flight into a stage."""

    operand: str
    tile: int
    stage: int


Side = Literal["producer", "consumer"]
LOOPS: dict[Side, tuple[str, ...]] = {
    "producer": ("wait", "expect", "load", "next"),
    "consumer": ("wait", "mma", "done", "free", "next"),
}
FAULTS = (
    "nothing",
    "the consumer does not arrive on empty",
    "the consumer waits for the other phase",
    "the producer begins with phase 0",
    "the producer expects A's bytes alone",
    "the producer does not wait for empty",
    "the consumer frees before it is done",
)


@dataclass
class RingModel:
    """A ring of stages, executed one instruction at a time; `fault` is one of FAULTS.

    full, empty: the mbarriers. holds: of each stage, operand → the tile that is there. in_flight: TMA's transfers.
    reading: the stage that wgmmas read. multiplied: tiles so far. said: the effect of the last instruction. wrong: the
    first error, or "".
    """

    stages: int
    fault: str = FAULTS[0]
    full: list[Mbarrier] = field(init=False)
    empty: list[Mbarrier] = field(init=False)
    holds: list[dict[str, int]] = field(init=False)
    in_flight: list[Transfer] = field(default_factory=list)
    producer: RingPlace = field(init=False)
    consumer: RingPlace = field(init=False)
    reading: int | None = None
    multiplied: int = 0
    said: str = ""
    wrong: str = ""

    def __post_init__(self) -> None:
        self.full, self.empty = ([fresh(1) for _ in range(self.stages)] for _ in range(2))
        self.holds = [{} for _ in range(self.stages)]
        self.producer = RingPlace(self.stages, phase=0 if self.fault == FAULTS[3] else 1)
        self.consumer = RingPlace(self.stages, phase=1 if self.fault == FAULTS[2] else 0)

    def loop(self, side: Side) -> tuple[str, ...]:
        """The instructions of a side's loop, with the fault."""
        instructions = LOOPS[side]
        if side == "producer" and self.fault == FAULTS[5]:
            return instructions[1:]
        if side == "consumer" and self.fault == FAULTS[1]:
            return tuple(instruction for instruction in instructions if instruction != "free")
        if side == "consumer" and self.fault == FAULTS[6]:
            return ("wait", "mma", "free", "done", "next")
        return instructions

    def place(self, side: Side) -> RingPlace:
        return self.producer if side == "producer" else self.consumer

    def blocked(self, side: Side) -> bool:
        """Whether this side is at a wait that does not return."""
        here = self.place(side)
        barriers = self.empty if side == "producer" else self.full
        return self.loop(side)[here.instruction] == "wait" and not barriers[here.index].lets_pass(here.phase)

    @property
    def stuck(self) -> bool:
        """Neither side can go on, and nothing is in flight."""
        return not self.in_flight and self.blocked("producer") and self.blocked("consumer")

    def step(self, side: Side) -> None:
        """Execute the next instruction of a side; nothing, at a wait that does not return."""
        here, instructions = self.place(side), self.loop(side)
        if self.blocked(side):
            name = "empty" if side == "producer" else "full"
            self.said = f"{side} waits: phase {here.phase} of {name}[{here.index}] is not over."
        else:
            instruction = instructions[here.instruction]
            here.instruction = (here.instruction + 1) % len(instructions)
            self.said = f"{side}: {self.execute(side, instruction)}"
        if self.stuck:
            self.blame("Both sides wait, and nothing is in flight: forever.")

    def arrive(self, number: int) -> None:
        """Transfer number `number` of those in flight reaches its stage."""
        came = self.in_flight.pop(number)
        if self.reading == came.stage:
            self.blame(f"{came.operand} of tile {came.tile} overwrites stage {came.stage} while wgmmas still read it.")
        self.holds[came.stage][came.operand] = came.tile
        self.full[came.stage] = self.full[came.stage].deliver(OPERANDS[came.operand])
        self.said = (
            f"TMA: {came.operand} of tile {came.tile} is in stage {came.stage}, "
            f"{OPERANDS[came.operand] // KIB} KiB counted on full[{came.stage}]."
        )

    def blame(self, what: str) -> None:
        self.wrong = self.wrong or what

    def execute(self, side: Side, instruction: str) -> str:
        """What it does, in words."""
        here = self.place(side)
        stage, tile = here.index, here.count
        match instruction:
            case "wait" if side == "producer":
                return f"phase {here.phase} of empty[{stage}] is over, the stage is free."
            case "wait":
                return f"phase {here.phase} of full[{stage}] is over."
            case "expect":
                size = OPERANDS["A"] if self.fault == FAULTS[4] else sum(OPERANDS.values())
                try:
                    self.full[stage] = self.full[stage].arrive(size)
                except ValueError:
                    self.blame(f"full[{stage}] has its arrival of this phase already: this one is lost.")
                return f"arrives on full[{stage}], {size // KIB} KiB will come."
            case "load":
                self.in_flight += [Transfer(operand, tile, stage) for operand in OPERANDS]
                return f"TMA is to bring A and B of tile {tile} into stage {stage}."
            case "mma":
                if missing := [operand for operand in OPERANDS if self.holds[stage].get(operand) != tile]:
                    operands, are = " and ".join(missing), "are" if len(missing) > 1 else "is"
                    self.blame(f"wgmma reads stage {stage}, and {operands} of tile {tile} {are} not there.")
                self.reading = stage
                return f"wgmmas read stage {stage} from now on."
            case "done":
                self.reading, self.multiplied = None, self.multiplied + 1
                return f"wait_group returns, stage {stage} has been read."
            case "free":
                self.empty[stage] = self.empty[stage].arrive()
                return f"arrives on empty[{stage}]."
        here.advance()
        return f"on to step {here.count}, stage {here.index}, phase {here.phase}."
