"""Hazards that the interpreter finds and a GPU hides."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Literal

import cuda.tile as ct

from tutorlib.failure import Flaw, Hazard
from tutorlib.simulate.cutile.dtypes import Number, poison

Kind = Literal["outside", "overlap", "race", "unwritten", "repeat"]
Block = tuple[int, ...]

PACKAGES = (str(Path(__file__).parent), "/torch/")


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a kernel whose result may be right by luck.

    kind: "outside": a tile or an index lies outside the array, which leaves the result undefined;
        "overlap": a block stores another value where a block has stored one, and either may win;
        "race": a block loads what another block stores in the same launch, before or after;
        "unwritten": a part of an array that the kernel stores to is never stored;
        "repeat": an element is stored a second time, which is no fault (`Report.repeats`).
    array: the parameter's name.
    block: the first block in which it was seen, None for "unwritten".
    line: the reader's line, 0 where there is none.
    message: one sentence.
    """

    kind: Kind
    array: str
    block: Block | None
    line: int
    message: str


@dataclass
class Launch:
    """The state of one launch: which block runs now and what has been noticed so far.

    undetermined: the number that stands where cuTile leaves a value of a dtype undetermined.
    number: the running block's place in the order of execution.
    synchronised: whether the kernel used atomics or memory orders; what blocks may then do to each other's elements
        is up to the reader's own protocol, which is not modelled.
    loaded: of each array, how many elements were loaded. largest: the elements of the largest tile of it.
    scattered: the arrays of which a block loaded or stored single elements.
    factors: the dtypes of the tiles that ct.mma multiplied. products: the products of elements in all its calls.
    selected: after how many products ct.where chose among the columns of a tile.
    """

    grid: tuple[int, int, int]
    undetermined: Callable[[ct.DType], Number] = poison
    block: tuple[int, int, int] = (0, 0, 0)
    number: int = 0
    synchronised: bool = False
    seen: dict[tuple[Kind, str, int], Finding] = field(default_factory=dict)
    loaded: Counter[str] = field(default_factory=Counter)
    largest: Counter[str] = field(default_factory=Counter)
    scattered: set[str] = field(default_factory=set)
    factors: set[str] = field(default_factory=set)
    products: int = 0
    selected: set[int] = field(default_factory=set)

    def blocks(self) -> Iterator[None]:
        """Runs through the grid, x fastest; block and number are those of the step."""
        gx, gy, gz = self.grid
        for self.number in range(gx * gy * gz):
            self.block = (self.number % gx, self.number // gx % gy, self.number // (gx * gy))
            yield

    def count_load(self, array: str, elements: int, tile: int) -> None:
        """A tile was loaded, with so many elements of the array; gathered ones count, too."""
        self.loaded[array] += elements
        self.largest[array] = max(self.largest[array], tile)

    def show(self, number: int) -> str:
        """A block's number as the reader counts: "3", or "(1, 2)" in a grid of two dimensions."""
        gx, gy, gz = self.grid
        place = (number % gx, number // gx % gy, number // (gx * gy))
        return str(number) if gy == gz == 1 else str(place if gz > 1 else place[:2])

    def notice(self, kind: Kind, array: str, message: str) -> None:
        """Keep the first of each kind by array and line."""
        line = readers_line()
        key = (kind, array, line)
        if key not in self.seen:
            message = f"block {self.show(self.number)} {message}"
            self.seen[key] = Finding(kind, array, self.block, line, Flaw(message, Hazard(kind)(tensor=array)))

    def findings(self) -> tuple[Finding, ...]:
        """Without overlaps and races where the kernel synchronises its blocks itself."""
        ignored = ("overlap", "race", "repeat") if self.synchronised else ("repeat",)
        return tuple(finding for finding in self.seen.values() if finding.kind not in ignored)

    def repeats(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.seen.values() if finding.kind == "repeat")


def readers_line() -> int:
    """The line of the innermost frame that is not the interpreter's."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and any(package in frame.f_code.co_filename for package in PACKAGES):
        frame = frame.f_back
    return frame.f_lineno if frame else 0
