"""Memory: the tensor behind an array, with its bounds and who stored what."""

from dataclasses import dataclass

import cuda.tile as ct
from torch import Tensor

from tutorlib.simulate.cutile.dtypes import fit
from tutorlib.simulate.cutile.findings import Launch

NEVER = -1  # in Memory.writer: no block has stored here


@dataclass(frozen=True)
class Memory:
    """The target of loads and stores: a view of a tensor.

    data: the tensor in its storage dtype, written in place.
    writer: which block (by its place in the order) stored each element last; the shape of data.
    origin: where a slice starts in its parameter, for messages.
    """

    name: str
    dtype: ct.DType
    data: Tensor
    writer: Tensor
    launch: Launch
    origin: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return self.data.ndim

    def notice_race(self, where: tuple, what: object) -> None:
        others = foreign(self.writer[where], self.launch.number)
        if others.any():
            by = self.launch.show(int(self.writer[where][others][0]))
            self.launch.notice(
                "race", self.name, f"loads {what}, which block {by} stores in the same launch: before or after?"
            )

    def notice_overlap(self, where: tuple, new: Tensor, what: object) -> None:
        """Storing once more what is there already is no fault, so values are compared, NaN equal to NaN."""
        before = self.writer[where]
        if (before != NEVER).any():
            number = int(before[before != NEVER][0])
            who = "it" if number == self.launch.number else f"block {self.launch.show(number)}"
            self.launch.notice("repeat", self.name, f"stores {what}, where {who} has stored before")
        others = foreign(before, self.launch.number)
        if not others.any():
            return
        old = self.data[where]
        changed = others & (fit(old, self.dtype) != fit(new, self.dtype)) & ~((old != old) & (new != new))
        if changed.any():
            by = self.launch.show(int(self.writer[where][changed][0]))
            self.launch.notice(
                "overlap", self.name, f"stores {what}, where block {by} stored other values: either may win"
            )

    def __str__(self) -> str:
        return f"{self.name} of shape {tuple(self.data.shape)}"


def foreign(writer: Tensor, me: int) -> Tensor:
    return (writer != NEVER) & (writer != me)


def never_stored(memory: Memory) -> str:
    """A sentence about the elements that no block stored; "" where all were, or none."""
    missing = memory.writer == NEVER
    if not missing.any() or missing.all():
        return ""
    where = missing.nonzero()
    spans = (f"{int(low)}:{int(high) + 1}" for low, high in zip(where.amin(0), where.amax(0), strict=True))
    return (
        f"{len(where):,} of the {missing.numel():,} elements of {memory.name} are never stored: "
        f"they lie in {memory.name}[{', '.join(spans)}]"
    )
