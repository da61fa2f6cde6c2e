"""Shared memory's banks and their conflicts.

32 banks, 4 bytes wide: word w of shared memory is in bank w % 32. A wavefront serves every bank once; threads that
read the same word share it (CUDA C++ Programming Guide, "Shared Memory" of compute capability 5.x and later).
"""

from collections import defaultdict
from collections.abc import Sequence

from tutorlib.machine.hardware import BANKS, WARP, WAVEFRONT, WORD


def bank(offset: int, element_bytes: int) -> int:
    """The bank in which the element at this offset (in elements) begins."""
    return offset * element_bytes // WORD % BANKS


def bank_group(offset: int, element_bytes: int) -> int:
    """The 16-byte group of banks, of eight, of the element at this offset."""
    return bank(offset, element_bytes) // 4


def wavefronts(offsets: Sequence[int], element_bytes: int, vector: int = 1) -> int:
    """How many wavefronts one access of a warp costs.

    offsets: of the first element of each thread, in elements; at most 32.
    vector: consecutive elements that each thread reads.
    Threads that read 8 or 16 bytes each are served by halves or quarters of the warp, 128 bytes at a time. Each part
    costs as many wavefronts as its busiest bank has different words to serve.
    Raises ValueError for more than 32 threads or more than 16 bytes a thread.
    """
    each = element_bytes * vector
    if len(offsets) > WARP:
        raise ValueError(f"{len(offsets)} threads; a warp has {WARP}")
    if each > 16:
        raise ValueError(f"{each} bytes a thread; one access moves 16 at most")
    together = min(WARP, WAVEFRONT // each)
    parts = [offsets[start : start + together] for start in range(0, len(offsets), together)]
    return sum(ways(part, element_bytes, vector) for part in parts)


def ways(offsets: Sequence[int], element_bytes: int, vector: int = 1) -> int:
    """The largest number of different words that threads, served together, read from one bank."""
    words = defaultdict(set)
    for offset in offsets:
        first, end = offset * element_bytes, (offset + vector) * element_bytes
        for word in range(first // WORD, (end - 1) // WORD + 1):
            words[word % BANKS].add(word)
    return max(map(len, words.values()), default=0)
