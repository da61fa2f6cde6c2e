"""Arrays: tensors in memory, with bounds and who stored what."""

from dataclasses import dataclass, replace

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.box import Box, padding_value
from tutorlib.simulate.cutile.dtypes import CARRIER, FROM_TORCH, STORAGE, fit
from tutorlib.simulate.cutile.errors import NotSimulated
from tutorlib.simulate.cutile.findings import Launch
from tutorlib.simulate.cutile.gather_scatter import Places
from tutorlib.simulate.cutile.raw_memory import RawMemory
from tutorlib.simulate.cutile.tile import Tile, Value, as_shape
from tutorlib.simulate.cutile.tile_space import TiledView

NOBODY = -1  # in Array.writer: no block has stored here


@dataclass(frozen=True)
class Array:
    """A parameter of a kernel, or a slice of one: a view of a tensor.

    data: the tensor in its storage dtype, written in place.
    writer: which block (by its place in the order) stored each element last; the shape of data.
    index_dtype: of shapes and strides, int32 unless the parameter is annotated.
    static_shape, static_strides: axes whose size or stride the annotation made a constant.
    origin: where a slice starts in its parameter, for messages.
    """

    name: str
    dtype: ct.DType
    data: Tensor
    writer: Tensor
    launch: Launch
    origin: tuple[int, ...]
    index_dtype: ct.DType = ct.int32
    static_shape: frozenset[int] = frozenset()
    static_strides: frozenset[int] = frozenset()

    @classmethod
    def of(cls, name: str, tensor: Tensor, launch: Launch, annotation: ct.ArrayAnnotation) -> "Array":
        dtype, n = FROM_TORCH[tensor.dtype], tensor.ndim
        data = tensor if tensor.dtype == STORAGE[dtype] else tensor.view(STORAGE[dtype])
        return cls(
            name,
            dtype,
            data,
            torch.full(tensor.shape, NOBODY, dtype=torch.int32),
            launch,
            (0,) * n,
            annotation.index_dtype,
            frozenset(axis % n for axis in annotation.static_shape_dims),
            frozenset(axis % n for axis in annotation.static_stride_dims),
        )

    @property
    def ndim(self) -> int:
        return self.data.ndim

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
        cut = [t.narrow(axis, start, stop - start) for t in (self.data, self.writer)]
        return replace(self, data=cut[0], writer=cut[1], origin=origin)

    def tiled_view(self, tile_shape, *, padding_mode=ct.PaddingMode.UNDETERMINED, traversal_steps=None) -> TiledView:
        shape = as_shape(tile_shape) or (1,) * self.ndim
        steps = shape if traversal_steps is None else as_shape(traversal_steps)
        return TiledView(self, as_shape(tile_shape), steps, padding_mode)

    def get_raw_memory(self) -> RawMemory:
        if not self.data.is_contiguous() or any(self.origin):
            raise NotSimulated("get_raw_memory of a slice or of an array with gaps")
        return RawMemory(replace(self, data=self.data.view(-1), writer=self.writer.view(-1), origin=(0,)))

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSimulated(f"Array.{name}")

    def read(self, box: Box, padding: ct.PaddingMode) -> Tensor:
        """The box in the dtype's carrier, what is outside filled by the padding mode."""
        if box.outside:
            self.launch.notice("outside", self.name, f"loads {box}, which lies outside {self}")
        self.notice_race(box.inside, box)
        data = fit(self.data[box.inside], self.dtype)
        if box.whole:
            return data.clone()
        padded = torch.full(box.size, padding_value(padding, self), dtype=CARRIER[self.dtype])
        padded[box.part] = data
        return padded

    def write(self, box: Box, data: Tensor) -> None:
        """Store the part of the data that is inside. data: in the dtype's carrier, of the box's size."""
        if box.outside:
            self.launch.notice("outside", self.name, f"stores {box}, which lies outside {self}")
        new = data[box.part].to(self.data.dtype)
        self.notice_overlap(box.inside, new, box)
        self.data[box.inside] = new
        self.writer[box.inside] = self.launch.number

    def notice_race(self, where: tuple, what: Box | Places) -> None:
        others = foreign(self.writer[where], self.launch.number)
        if others.any():
            by = self.launch.show(int(self.writer[where][others][0]))
            self.launch.notice(
                "race", self.name, f"loads {what}, which block {by} stores in the same launch: before or after?"
            )

    def notice_overlap(self, where: tuple, new: Tensor, what: Box | Places) -> None:
        """Storing once more what is there already is no fault, so values are compared, NaN equal to NaN."""
        others = foreign(self.writer[where], self.launch.number)
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
    return (writer != NOBODY) & (writer != me)


def never_stored(array: Array) -> str:
    """A sentence about the elements that no block stored; "" where all were, or none."""
    missing = array.writer == NOBODY
    if not missing.any() or missing.all():
        return ""
    where = missing.nonzero()
    spans = (f"{int(low)}:{int(high) + 1}" for low, high in zip(where.amin(0), where.amax(0), strict=True))
    return (
        f"{len(where):,} of the {missing.numel():,} elements of {array.name} are never stored: "
        f"they lie in {array.name}[{', '.join(spans)}]"
    )
