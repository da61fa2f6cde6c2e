# Memory, until there is none: allocated, and mapped. It is not written to, so a machine without limits survives.
# deserves: 0
import mmap

kept = []


def answer(n):
    for _ in range(64):
        kept.append(bytearray(2**30))
    for _ in range(64):
        kept.append(mmap.mmap(-1, 2**30))
    return 0
