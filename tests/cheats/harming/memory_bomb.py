# Memory, until there is none: allocated, mapped, and in files that live in memory.
# deserves: 0
import mmap

kept = []


def answer(n):
    for _ in range(64):
        kept.append(bytearray(2**30))
    for _ in range(64):
        block = mmap.mmap(-1, 2**30)
        block.write(b"x" * 2**30)
        kept.append(block)
    return 0
