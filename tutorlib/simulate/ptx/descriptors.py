"""Descriptors: TMA's, 128 bytes that say where a tensor lies and how a box of it lies in shared memory; and those of
a wgmma operand in shared memory, 64 bits (PTX ISA, 9.7.15.5.1). Fragments: where the instructions of tensor memory have
what (9.7.16), in its 128 lanes of 512 columns, 32 bits each.

The form of TMA's is not documented; this is what CuTe's host functions write for tensors whose form is known
(tests/simulate/ptx/test_tma.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np

from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.types import bits_of

BYTES = 128
LINE = 128  # bytes of shared memory that a swizzle permutes 16 by 16
KINDS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "b64")  # by the type's code
SIXTEENS, UNPACKED = 11, (12, 13)  # numbers of 4 bits side by side; numbers of 4 and 6 bits with gaps between them
# A CUtensorMapDataType: its code here, where that is another. Of tf32 only the size matters.
IN_DESCRIPTORS = {10: 8, 8: 9, 9: 10, 11: 7, 12: 8, 13: SIXTEENS, 14: UNPACKED[0], 15: UNPACKED[1]}
MOST_DIMENSIONS = 5


@dataclass(frozen=True)
class TensorMap:
    """address: of the tensor, in the host's numbers. element: bytes. swizzle: bits of an address that it changes.

    shape, box: in elements, the contiguous mode first. strides: bytes, of each mode; the first is `element`.
    numbers: that make an element, which coordinates count: 16 of 4 bits. kind: the element's type, as PTX names it.
    """

    address: int
    element: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    numbers: int
    kind: str

    @property
    def bytes(self) -> int:
        """The bytes of a box in shared memory, including parts outside of the tensor."""
        return int(np.prod(self.box)) * self.element

    @property
    def extent(self) -> int:
        """Bytes from the tensor's first element to behind its last."""
        return sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)) + self.element

    @cached_property
    def places(self) -> np.ndarray:
        """The offset of each 16 bytes of a box from its first byte, whose address is a multiple of 1,024."""
        return swizzle_units(np.arange(0, self.bytes, 16), self.swizzle)

    def inside(self, at: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """The part of the box at these elements inside the tensor: slices of the tensor, and of the box."""
        whole, part = [], []
        for first, size, box in zip(at, self.shape, self.box, strict=True):
            begin, end = max(first, 0), max(min(first + box, size), max(first, 0))
            whole.append(slice(min(begin, size), min(end, size)))
            part.append(slice(begin - first, begin - first + whole[-1].stop - whole[-1].start))
        return tuple(whole), tuple(part)


def swizzle_units(addresses: np.ndarray, bits: int) -> np.ndarray:
    """Units of 16 bytes change places within a line of 128, by the lowest bits of the line's number."""
    return addresses ^ (addresses // LINE % (1 << bits) * 16)


def write_tensor_map(
    address: int, kind: int, shape: Sequence[int], strides: Sequence[int], box: Sequence[int], swizzle: int
) -> bytes:
    """What cuTensorMapEncodeTiled makes. kind: a CUtensorMapDataType. strides: bytes, of all modes but the first."""
    sixteens = [stride // 16 for stride in strides] + [0] * (MOST_DIMENSIONS - 1 - len(strides))
    sizes, boxes = ([n - 1 for n in each] + [0] * (MOST_DIMENSIONS - len(each)) for each in (shape, box))
    low = [part & 0xFFFFFFFF for part in sixteens]
    words = [
        address,
        len(shape) - 1 << 4 | IN_DESCRIPTORS.get(kind, kind) << 7 | swizzle << 13 | low[0] << 32,
        low[1] | low[2] << 32,
        low[3] | sum(part >> 32 << 32 + 4 * n for n, part in enumerate(sixteens)),
        sizes[0] | sizes[1] << 32,
        sizes[2] | sizes[3] << 32,
        sizes[4] | boxes[0] << 56,
        sum(size << 8 * n for n, size in enumerate(boxes[1:])),
    ]
    return np.array([*words, *[0] * (BYTES // 8 - len(words))], np.uint64).tobytes()


@lru_cache(maxsize=256)
def read_tensor_map(data: bytes) -> TensorMap:
    """Raises ValueError where these are no descriptor's bytes, and NotSimulated for numbers with gaps between them."""
    words = [int(word) for word in np.frombuffer(data, np.uint64)]
    low, dimensions, kind = words[1] & 0xFFFFFFFF, (words[1] >> 4 & 7) + 1, words[1] >> 7 & 15
    if kind > max(UNPACKED) or dimensions > MOST_DIMENSIONS or words[0] == 0:
        raise ValueError("not a descriptor of a tensor")
    if kind in UNPACKED:
        raise NotSimulated("a TMA copy of numbers of 4 or 6 bits that fill bytes in shared memory")
    sizes = [words[4] & 0xFFFFFFFF, words[4] >> 32, words[5] & 0xFFFFFFFF, words[5] >> 32, words[6] & 0xFFFFFFFF]
    sixteens = [words[1] >> 32, words[2] & 0xFFFFFFFF, words[2] >> 32, words[3] & 0xFFFFFFFF]
    higher = [words[3] >> 32 + 4 * n & 15 for n in range(4)]
    boxes = [words[6] >> 56, *(words[7] >> 8 * n & 255 for n in range(4))]
    element, numbers = bits_of(KINDS[kind]) // 8, 16 if kind == SIXTEENS else 1
    strides = [element, *(16 * (part + (top << 32)) for part, top in zip(sixteens, higher, strict=True))]
    shape, box = (((each[0] + 1) // numbers, *(size + 1 for size in each[1:dimensions])) for each in (sizes, boxes))
    steps = tuple(strides[:dimensions])
    return TensorMap(words[0], element, shape, steps, box, swizzle=low >> 13 & 3, numbers=numbers, kind=KINDS[kind])


UNIT = 16  # bytes that a swizzle keeps together, and that TMA moves
SWIZZLE_BITS = (0, 3, 2, 1)  # by the descriptor's code: none, 128, 64, 32 bytes
ROWS = 8  # of a core matrix, each a unit long


@dataclass(frozen=True)
class MatrixDescriptor:
    """start: the first byte. leading, stride: bytes. bits: of the swizzle."""

    start: int
    leading: int
    stride: int
    bits: int

    def units(self, rows: int, bytes_of_k: int, k_major: bool) -> np.ndarray:
        """Addresses of the operand's units: (rows, units along K) if K is contiguous, else (units along M or N, K).

        rows: the extent of M or N. If K is not contiguous, `rows` counts bytes, and `bytes_of_k` elements.
        """
        offsets = unit_offsets(self.leading, self.stride, self.bits, rows, bytes_of_k, k_major)
        return swizzle_units(self.start + offsets, self.bits)


def read_descriptor(value: int, bits: int | None = None) -> MatrixDescriptor:
    """bits: of the swizzle, where it is coded in another way than wgmma's."""
    start, leading, stride = ((value >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    return MatrixDescriptor(start, leading, stride, SWIZZLE_BITS[value >> 62] if bits is None else bits)


@lru_cache(maxsize=256)
def unit_offsets(leading: int, stride: int, bits: int, rows: int, along_k: int, k_major: bool) -> np.ndarray:
    """As the canonical layouts of that chapter have it, without the swizzle."""
    wide = 1 << bits  # units in a row of the swizzled pattern
    if k_major:
        row, unit = np.arange(rows)[:, None], np.arange(along_k // UNIT)[None, :]
        across = unit * UNIT if bits else unit * leading
        return row // ROWS * stride + row % ROWS * wide * UNIT + across
    unit, k = np.arange(rows // UNIT)[:, None], np.arange(along_k)[None, :]
    if not bits:
        return unit * stride + k % ROWS * UNIT + k // ROWS * leading
    return unit % wide * UNIT + unit // wide * leading + k % ROWS * wide * UNIT + k // ROWS * stride


LANES, COLUMNS = 128, 512
QUARTER, HALF = 32, 16  # lanes that a warp may read, and half of them
STRIPS = LANES // HALF  # of a column
LANE_BITS = 16  # of an address: the column below, the lane above


def column_of(address: int) -> tuple[int, int]:
    """(lane, column)"""
    return address >> LANE_BITS, address & (1 << LANE_BITS) - 1


@dataclass(frozen=True)
class Fragment:
    """A place in tensor memory for each element of an array, which has the shape of lanes and columns.

    strips: what of tensor memory that is, in sixteen lanes of a column each: STRIPS · column + lane / 16.
    """

    lanes: np.ndarray
    columns: np.ndarray
    strips: np.ndarray

    def at(self, lane: int, column: int) -> "Fragment":
        """From there on."""
        return Fragment(self.lanes + lane, self.columns + column, self.strips + STRIPS * column + lane // HALF)


def fragment_of(lanes: np.ndarray, columns: np.ndarray) -> Fragment:
    return Fragment(lanes, columns, np.unique(STRIPS * columns + lanes // HALF))


def strips_of(start: int, columns: int) -> np.ndarray:
    """Of whole columns."""
    return np.arange(STRIPS * start, STRIPS * (start + columns))


@cache
def matrix_fragment(rows: int, columns: int, halves: bool) -> Fragment:
    """Where a block's rows of a matrix lie: (rows, columns) in 32 bits each (PTX ISA, 9.7.16.10.5).

    Rows that do not fill the lanes leave room for the other columns beside them: one half of the columns, or one
    quarter. With halves, 64 rows take sixteen lanes of each quarter instead.
    """
    row, column = np.indices((rows, columns))
    if halves:
        return fragment_of(row + row // HALF * HALF, column)
    wide = columns * rows // LANES
    return fragment_of(row + column // wide * rows, column % wide)


@cache
def copy_fragment(shape: str, multicast: str) -> tuple[np.ndarray, Fragment]:
    """What a tcgen05.cp takes where, by the parts of its name: a row of shared memory for each lane that it fills, and
    the places of these rows in 32 bits each (PTX ISA, 9.7.16.8.2)."""
    count, bits = (int(size) for size in shape.removesuffix("b").split("x"))
    rows, lanes = np.arange(count), np.arange(LANES)
    source = {
        "": rows,
        "warpx4": lanes % QUARTER,
        "warpx2::02_13": lanes % (2 * QUARTER),
        "warpx2::01_23": lanes // (2 * QUARTER) * QUARTER + lanes % QUARTER,
    }[multicast]
    lanes = lanes if len(source) == LANES else rows * QUARTER  # of 4 rows each is for a quarter
    return source, fragment_of(*np.broadcast_arrays(lanes[:, None], np.arange(bits // 32)))


@cache
def fragment(shape: str, times: int, second: int = 0) -> Fragment:
    """Where a tcgen05.ld or .st has what (PTX ISA, 9.7.16.2.3): (threads, registers). shape: "32x32b".

    times: of .xN. second: of 16x32bx2, the column of the upper sixteen threads. Raises KeyError for shapes that do not
    exist.
    """
    across = {"32x32b": 1, "16x32bx2": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4}[shape]  # registers
    thread, register = np.indices((WARP, across * times))
    repeat, number = register // across, register % across
    lanes, columns = {
        "32x32b": (thread, register),
        "16x32bx2": (thread % 16, thread // 16 * second + register),
        "16x64b": (thread % 2 * 8 + thread // 4, thread // 2 % 2 + 2 * repeat),
        "16x128b": (number * 8 + thread // 4, thread % 4 + 4 * repeat),
        "16x256b": (number // 2 * 8 + thread // 4, thread % 4 * 2 + number % 2 + 8 * repeat),
    }[shape]
    return fragment_of(lanes, columns)
