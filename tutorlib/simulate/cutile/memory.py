"""Memory: the tensor behind an array, with its bounds and what blocks did to each element."""

from dataclasses import dataclass

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.accesses import Access, How
from tutorlib.simulate.cutile.dtypes import fit
from tutorlib.simulate.cutile.findings import Launch


@dataclass(frozen=True)
class Memory:
    """The target of loads and stores: a view of a tensor.

    data: the tensor in its storage dtype, written in place.
    history: by element, the number of what was done to it (`accesses.Histories`); the shape of data.
    origin: where a slice starts in its parameter, for messages.
    """

    name: str
    dtype: ct.DType
    data: Tensor
    history: Tensor
    launch: Launch
    origin: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return self.data.ndim

    def note_load(self, where: tuple, what: object, how: How) -> None:
        """The running block is about to load elements."""
        self.note(where, what, how, None)

    def note_store(self, where: tuple, what: object, how: How, new: Tensor) -> None:
        """It is about to store. Storing what is there already is no fault, so values are compared."""
        changed = self.differ(self.data[where], new)
        self.launch.keep(self.name)
        self.launch.changes += bool(changed.any())
        self.note(where, what, how, changed)

    def differ(self, old: Tensor, new: Tensor) -> Tensor:
        """Which elements of two tensors of its dtype are not equal; NaN is equal to NaN."""
        return (fit(old, self.dtype) != fit(new, self.dtype)) & ~((old != old) & (new != new))

    def note(self, where: tuple, what: object, how: How, changed: Tensor | None) -> None:
        """changed: the elements that a write gives another value."""
        launch, before = self.launch, self.history[where]
        if not before.numel():
            return
        histories, me = launch.histories, launch.running
        numbers, which = distinct(before)
        for number in numbers:
            self.notice_repeat(histories.writer(number), what, how)
            other = histories.conflict(number, me, how)
            if other and (changed is None or changed[before == number].any()):
                self.notice_conflict(other, what, how)
        if how.acquires:
            me.known = histories.acquired(numbers, me.known)
        after = [histories.continued(number, me, how) for number in numbers]
        if which is None:
            self.history[where] = after[0]
        else:
            self.history[where] = torch.tensor(after, dtype=torch.int32)[which]

    def notice_repeat(self, writer: int, what: object, how: How) -> None:
        if writer >= 0 and how.writes and not how.strong:
            who = "it" if writer == self.launch.running.number else f"block {self.launch.show(writer)}"
            self.launch.notice("repeat", self.name, f"stores {what}, where {who} has stored before")

    def notice_conflict(self, other: Access, what: object, how: How) -> None:
        by = self.launch.show(other.block)
        if how.verb == other.how.verb == "stores":
            self.launch.notice(
                "overlap", self.name, f"stores {what}, where block {by} stored other values: either may win"
            )
            return
        does = f"{how.verb} {what}, which block {by} {other.how.verb} in the same launch"
        self.launch.notice("race", self.name, f"{does}: before or after?")

    def __str__(self) -> str:
        return f"{self.name} of shape {tuple(self.data.shape)}"


def distinct(numbers: Tensor) -> tuple[list[int], Tensor | None]:
    """The numbers, each once, and where each element's is among them; None where all are the same."""
    low, high = torch.aminmax(numbers)
    if low == high:
        return [int(low)], None
    once, which = torch.unique(numbers, return_inverse=True)
    return once.tolist(), which


def never_stored(memory: Memory, writers: Tensor) -> str:
    """A sentence about the elements that no block stored (-1); "" where all were, or none."""
    missing = writers < 0
    if not missing.any() or missing.all():
        return ""
    where = missing.nonzero()
    spans = (f"{int(low)}:{int(high) + 1}" for low, high in zip(where.amin(0), where.amax(0), strict=True))
    return (
        f"{len(where):,} of the {missing.numel():,} elements of {memory.name} are never stored: "
        f"they lie in {memory.name}[{', '.join(spans)}]"
    )
