"""Atomics: elements that repeat in one tile of indices take turns."""

from collections.abc import Callable

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.accesses import How
from tutorlib.simulate.cutile.dtypes import CARRIER, fit
from tutorlib.simulate.cutile.gather_scatter import Places, places
from tutorlib.simulate.cutile.memory import Memory
from tutorlib.simulate.cutile.tile import Tile, Value, convert


def atomic(change: Callable[..., Tensor], gives_first: bool = False) -> Callable:
    """An atomic function of cuTile.

    change: the old elements and the operands to the new elements.
    gives_first: where there is no element, it gives the first operand; else cuTile leaves open what it gives.
    """

    def apply(
        array: Memory,
        indices,
        /,
        *operands: Value,
        mask=None,
        check_bounds=True,
        memory_order=ct.MemoryOrder.ACQ_REL,
        memory_scope=ct.MemoryScope.DEVICE,
    ):
        at = places(array, indices, mask, check_bounds)
        array.launch.count_load(array.name, int(at.wanted.sum()), at.wanted.numel())
        flat = ravel(at)
        spread = [convert(v, array.dtype).broadcast_to(at.wanted.shape) for v in operands]
        values = [v[at.wanted] for v in spread]
        old = torch.empty_like(flat, dtype=CARRIER[array.dtype])
        if len(flat):
            array.launch.poll(array.name, at, (array.name, *at.first), strong=True)
        how = How.of(True, True, memory_order, memory_scope)
        for turn in turns(flat):
            where = tuple(axis[turn] for axis in at.chosen())
            old[turn] = fit(array.data[where], array.dtype)
            new = fit(change(old[turn], *(v[turn] for v in values)), array.dtype).to(array.data.dtype)
            array.note_store(where, at, how, new)
            array.data[where] = new
        array.launch.running.epoch += how.releases
        nothing = array.launch.undetermined(array.dtype)
        result = spread[0].clone() if gives_first else torch.full_like(spread[0], nothing)
        result[at.wanted] = old
        return Tile(result, array.dtype)

    return apply


def ravel(at: Places) -> Tensor:
    """One number for each chosen element, equal where the elements are the same."""
    flat = torch.zeros(int(at.wanted.sum()), dtype=torch.int64)
    for axis, size in zip(at.chosen(), at.array.data.shape, strict=True):
        flat = flat * size + axis
    return flat


def turns(flat: Tensor):
    """Positions in groups without repeated elements, so that repeated ones take turns."""
    left = torch.arange(len(flat))
    while len(left):
        elements, inverse = torch.unique(flat[left], return_inverse=True)
        first = torch.full((len(elements),), len(left)).scatter_reduce(0, inverse, torch.arange(len(left)), "amin")
        yield left[first]
        rest = torch.ones(len(left), dtype=torch.bool)
        rest[first] = False
        left = left[rest]


ATOMICS = {
    "atomic_add": atomic(lambda old, x: old + x),
    "atomic_max": atomic(torch.maximum),
    "atomic_min": atomic(torch.minimum),
    "atomic_and": atomic(lambda old, x: old & x),
    "atomic_or": atomic(lambda old, x: old | x),
    "atomic_xor": atomic(lambda old, x: old ^ x),
    "atomic_xchg": atomic(lambda old, x: x),
    "atomic_cas": atomic(lambda old, expected, desired: torch.where(old == expected, desired, old), gives_first=True),
}
