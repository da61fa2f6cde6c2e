"""What memory accesses cost, for many of a warp at once: shared memory's wavefronts, global memory's sectors.

Shared memory has 32 banks of 4 bytes. A wavefront serves each bank once, and threads that want the same word share it.
Threads that move 8 or 16 bytes each are served by halves and quarters of the warp; so are ldmatrix's rows, whose
addresses come from eight lanes for each matrix. Of global memory aligned sectors of 32 bytes come whole or not.

Addresses are (accesses, 32) in bytes, negative for lanes that take no part; multiples of `width`, the bytes of each.
"""

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP

BANKS, WORD = 32, 4  # of shared memory, on every GPU since compute capability 5.0; bytes in a bank's word
WAVEFRONT = BANKS * WORD  # bytes that one wavefront can deliver
OUT = np.int64(2**40)  # the word of a lane that takes no part; above all others
SECTOR = 32  # bytes
LINE = 128  # bytes of a cache line, four sectors


def wavefronts_of_warps(addresses: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Wavefronts that each access takes, and how many it would take without a conflict."""
    together = min(WARP, WAVEFRONT // width)
    parts = addresses.reshape(-1, together)  # (accesses · parts, lanes)
    steps = np.arange(0, width, WORD)
    words = (parts[:, :, None] + steps) // WORD
    words = np.where(parts[:, :, None] < 0, OUT, words).reshape(len(parts), -1)
    ways = most_in_a_bank(words)
    served = (parts >= 0).any(1)
    count = len(addresses)
    return ways.reshape(count, -1).sum(1), served.reshape(count, -1).sum(1)


def most_in_a_bank(words: np.ndarray) -> np.ndarray:
    """For each row of words: the most different ones that lie in one bank."""
    words = np.sort(words, axis=1)
    different = np.ones(words.shape, bool)
    different[:, 1:] = words[:, 1:] != words[:, :-1]
    different &= words < OUT
    place = np.arange(len(words))[:, None] * BANKS + words % BANKS
    counts = np.bincount(place[different], minlength=len(words) * BANKS)
    return counts.reshape(-1, BANKS).max(1)


def sectors(addresses: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Sectors that each access moves, and the fewest that could hold as many different bytes."""
    moved = different(addresses // SECTOR, addresses >= 0)
    asked = different(addresses, addresses >= 0) * width
    return moved, -(-asked // SECTOR)


def lines(addresses: np.ndarray) -> np.ndarray:
    """Cache lines that each access touches."""
    return different(addresses // LINE, addresses >= 0)


def different(numbers: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """How many different numbers each row has among those that count."""
    ordered = np.sort(np.where(counted, numbers, -1), axis=1)
    steps = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    return steps.sum(1) + (ordered[:, 0] >= 0)
