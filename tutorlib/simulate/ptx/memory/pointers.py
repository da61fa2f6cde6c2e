"""Pointers among bytes: words that are addresses of known memory, moved with it."""

import numpy as np

POINTER_BYTES = 8


def pointer_words(data: np.ndarray) -> np.ndarray:
    return data[: len(data) // POINTER_BYTES * POINTER_BYTES].view(np.uint64)


def relocate(data: np.ndarray, moves: list[tuple[int, int, int]]) -> None:
    """Move pointers in place. moves: start, size and new start of each piece of memory."""
    words = pointer_words(data)
    before = words.copy()
    for start, size, new in moves:
        hit = (before >= start) & (before < start + size)
        words[hit] = before[hit] - np.uint64(start) + np.uint64(new)
