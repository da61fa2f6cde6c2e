"""Global memory's sectors, for many accesses of a warp at once: aligned pieces of 32 bytes that come whole or not."""

import numpy as np

SECTOR = 32
LINE = 128  # bytes of a cache line, four sectors


def sectors(addresses: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Sectors that each access moves, and the fewest that could hold as many different bytes.

    addresses: (accesses, 32) in bytes, negative for lanes that take no part; multiples of `width`, the bytes of each.
    """
    moved = different(addresses // SECTOR, addresses >= 0)
    asked = different(addresses, addresses >= 0) * width
    return moved, -(-asked // SECTOR)


def lines(addresses: np.ndarray) -> np.ndarray:
    """Cache lines that each access touches; addresses as in `sectors`."""
    return different(addresses // LINE, addresses >= 0)


def different(numbers: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """How many different numbers each row has among those that count."""
    ordered = np.sort(np.where(counted, numbers, -1), axis=1)
    steps = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    return steps.sum(1) + (ordered[:, 0] >= 0)
