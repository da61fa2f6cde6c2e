"""Arrays: memory as a kernel's parameters show it."""

from dataclasses import dataclass, replace

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.accesses import NEVER
from tutorlib.simulate.cutile.dtypes import CARRIER, FROM_TORCH, STORAGE
from tutorlib.simulate.cutile.launch import TileLaunch
from tutorlib.simulate.cutile.loads_stores import RawMemory, TiledView
from tutorlib.simulate.cutile.memory import Memory
from tutorlib.simulate.cutile.tile import Tile, Value, as_shape
from tutorlib.simulate.ptx.findings import NotSimulated


@dataclass(frozen=True)
class Array(Memory):
    """A parameter of a kernel, or a slice of one.

    index_dtype: of shapes and strides, int32 unless the parameter is annotated.
    static_shape, static_strides: axes whose size or stride the annotation made a constant.
    """

    index_dtype: ct.DType = ct.int32
    static_shape: frozenset[int] = frozenset()
    static_strides: frozenset[int] = frozenset()

    @classmethod
    def of(cls, name: str, tensor: Tensor, launch: TileLaunch, annotation: ct.ArrayAnnotation) -> "Array":
        dtype, n = FROM_TORCH[tensor.dtype], tensor.ndim
        launch.tensors[name] = tensor
        data = tensor if tensor.dtype == STORAGE[dtype] else tensor.view(STORAGE[dtype])
        return cls(
            name,
            dtype,
            data,
            torch.full(tensor.shape, NEVER, dtype=torch.int32),
            launch,
            (0,) * n,
            annotation.index_dtype,
            frozenset(axis % n for axis in annotation.static_shape_dims),
            frozenset(axis % n for axis in annotation.static_stride_dims),
        )

    @property
    def shape(self) -> tuple[Value, ...]:
        return self.run_time(self.data.shape, self.static_shape)

    @property
    def strides(self) -> tuple[Value, ...]:
        return self.run_time(self.data.stride(), self.static_strides)

    def run_time(self, sizes: tuple[int, ...], constant: frozenset[int]) -> tuple[Value, ...]:
        """Sizes as a kernel sees them: scalars known at run time only, but for the constant ones."""
        dtype = self.index_dtype
        return tuple(
            n if axis in constant else Tile(torch.tensor(n, dtype=CARRIER[dtype]), dtype)
            for axis, n in enumerate(sizes)
        )

    def slice(self, axis: int, start: Value, stop: Value) -> "Array":
        axis, start, stop = int(axis) % self.ndim, int(start), int(stop)
        if not 0 <= start <= stop <= self.data.shape[axis]:
            size = self.data.shape[axis]
            self.launch.notice("outside", self.name, f"slices {self.name} from {start} to {stop}; its size is {size}")
        origin = tuple(o + start if n == axis else o for n, o in enumerate(self.origin))
        cut = [t.narrow(axis, start, stop - start) for t in (self.data, self.history)]
        return replace(self, data=cut[0], history=cut[1], origin=origin)

    def tiled_view(self, tile_shape, *, padding_mode=ct.PaddingMode.UNDETERMINED, traversal_steps=None) -> TiledView:
        shape = as_shape(tile_shape) or (1,) * self.ndim
        steps = shape if traversal_steps is None else as_shape(traversal_steps)
        return TiledView(self, as_shape(tile_shape), steps, padding_mode)

    def get_raw_memory(self) -> RawMemory:
        if not self.data.is_contiguous() or any(self.origin):
            raise NotSimulated("get_raw_memory of a slice or of an array with gaps")
        return RawMemory(replace(self, data=self.data.view(-1), history=self.history.view(-1), origin=(0,)))

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSimulated(f"Array.{name}")
