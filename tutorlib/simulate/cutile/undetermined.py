"""Whether a launch's result depends on elements of tiles that lie outside of their array, which are undetermined."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.dsl.failure import Flaw, failures_in
from tutorlib.simulate.cutile.array import Array
from tutorlib.simulate.cutile.dtypes import STORAGE, Number, category, poison
from tutorlib.simulate.cutile.launch import Load, Padding, TileLaunch
from tutorlib.simulate.ptx.findings import Finding

Results = dict[str, Tensor]


def largest(dtype: ct.DType) -> Number:
    return True if dtype == ct.bool_ else finfo(dtype).max if category(dtype) == 2 else 1


def smallest(dtype: ct.DType) -> Number:
    return False if dtype == ct.bool_ else finfo(dtype).min if category(dtype) == 2 else 0


def finfo(dtype: ct.DType) -> torch.finfo:
    return torch.finfo(STORAGE[dtype])


def zero(dtype: ct.DType) -> Number:
    return 0


def uses(
    launch: TileLaunch, arrays: Sequence[Array], again: Callable[[Padding, Iterable[int]], None]
) -> Iterator[Finding]:
    """A finding for each load that left elements undetermined on which what the launch stored depends.

    again: repeats some blocks of the launch, with other numbers in the place of these elements than NaN, or the
    implausible ones that integers had. What stays the same, whichever these are, is independent of them.
    """
    blocks = launch.padding_blocks if launch.independent else set(range(launch.blocks))
    of_blocks = torch.tensor(sorted(blocks))
    stored = [array for array in arrays if array.name in launch.before]
    where = {array.name: torch.isin(launch.histories.writers(array.history), of_blocks) for array in stored}
    first = results(stored)

    def repeated(padding: Padding) -> Results:
        for array in stored:
            array.data.copy_(launch.before[array.name])
        with suppress(Exception):  # such as an assertion of the kernel's own: nothing more is stored
            again(padding, sorted(blocks))
        return results(stored)

    def changed(some: Results, others: Results) -> str:
        """The first array of which they differ, or ""."""
        return next((a.name for a in stored if (a.differ(some[a.name], others[a.name]) & where[a.name]).any()), "")

    if any(changed(first, repeated(dict.fromkeys(launch.padded, number))) for number in (largest, smallest)):
        determined: dict[Load, Callable[[ct.DType], Number]] = dict.fromkeys(launch.padded, zero)
        plain = repeated(determined)
        for load, finding in launch.padded.items():
            tried = (repeated(determined | {load: number}) for number in (poison, largest, smallest))
            if what := next(filter(None, (changed(plain, one) for one in tried)), ""):
                message = f"{finding.message}, and it changes {what}"
                yield replace(finding, message=Flaw(message, *failures_in([finding.message])))
    for array in stored:
        array.data.copy_(first[array.name])


def results(stored: Sequence[Array]) -> Results:
    return {array.name: array.data.clone() for array in stored}
