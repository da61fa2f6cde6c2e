"""Shared memory's wavefronts, for many accesses of a warp at once.

32 banks of 4 bytes, a wavefront serves each bank once, and threads that want the same word
share it. Threads that move 8 or 16 bytes each are served by halves and quarters of the warp; so are ldmatrix's rows,
whose addresses come from eight lanes for each matrix.
"""

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP

BANKS, WORD = 32, 4  # of shared memory, on every GPU since compute capability 5.0; bytes in a bank's word
WAVEFRONT = BANKS * WORD  # bytes that one wavefront can deliver

OUT = np.int64(2**40)  # the word of a lane that takes no part; above all others


def wavefronts_of_warps(addresses: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Wavefronts that each access takes, and how many it would take without a conflict.

    addresses: (accesses, 32) in bytes, negative for lanes that take no part. width: bytes of each lane.
    """
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
