"""Raw memory: loads, stores and atomics by offsets in elements."""

from dataclasses import dataclass
from functools import partial

import cuda.tile as ct

from tutorlib.simulate.cutile.atomics import ATOMICS
from tutorlib.simulate.cutile.gather_scatter import gather, scatter
from tutorlib.simulate.cutile.memory import Memory
from tutorlib.simulate.cutile.tile import Tile, Value


@dataclass(frozen=True)
class RawMemory:
    """An array's memory by offsets in elements, whatever its shape: what Array.get_raw_memory gives.

    flat: all of the memory as an array of one axis.
    """

    flat: Memory

    @property
    def dtype(self) -> ct.DType:
        return self.flat.dtype

    def load_offset(self, offset: Value, /, *, mask=None, padding_value=0, latency=None) -> Tile:
        return gather(self.flat, offset, mask=mask, padding_value=padding_value, check_bounds=False)

    def store_offset(self, offset: Value, value: Value, /, *, mask=None, latency=None) -> None:
        scatter(self.flat, offset, value, mask=mask, check_bounds=False)

    def __getattr__(self, name: str):
        """atomic_add_offset and its siblings."""
        if not (name.startswith("atomic_") and name.endswith("_offset")):
            raise AttributeError(name)
        return partial(ATOMICS[name.removesuffix("_offset")], self.flat, check_bounds=False)
