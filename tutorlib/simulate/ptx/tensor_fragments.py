"""Where the instructions of tensor memory have what (PTX ISA, 9.7.16): 128 lanes of 512 columns, 32 bits each."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP

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
