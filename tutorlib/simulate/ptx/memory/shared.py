"""Shared memory of the blocks that run together: one row of bytes for each."""

import numpy as np

POISON = 0xEB  # bytes never written: as bf16 a huge negative number, which no sum hides
ROW_ALIGNMENT = 1024


class SharedMemory:
    """size: bytes that a block has, static and dynamic. stride: bytes from a block's row to the next."""

    def __init__(self, blocks: int, size: int) -> None:
        self.size = size
        self.stride = -(-max(size, 1) // ROW_ALIGNMENT) * ROW_ALIGNMENT
        self.bytes = np.empty(blocks * self.stride, np.uint8)
        self.arriving = np.empty(blocks * self.stride, np.uint8)  # what was last on its way to each byte
        self.clear()

    def clear(self) -> None:
        self.bytes.fill(POISON)

    def rows(self, element: int, count: int) -> np.ndarray:
        """All of it as rows of `count` unsigned numbers of `element` bytes each."""
        return self.bytes.view(f"u{element}").reshape(-1, count)

    def arriving_rows(self, element: int, count: int) -> np.ndarray:
        return self.arriving.view(f"u{element}").reshape(-1, count)
