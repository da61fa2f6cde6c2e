"""Addresses of a wgmma operand in shared memory, from its 64-bit descriptor (PTX ISA, 9.7.15.5.1)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tutorlib.simulate.ptx.memory.tensor_maps import swizzle_units

UNIT = 16  # bytes that a swizzle keeps together
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
    return MatrixDescriptor(
        start=(value & 0x3FFF) << 4,
        leading=(value >> 16 & 0x3FFF) << 4,
        stride=(value >> 32 & 0x3FFF) << 4,
        bits=SWIZZLE_BITS[value >> 62] if bits is None else bits,
    )


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
