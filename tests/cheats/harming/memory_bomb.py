# Memory, until there is none: allocated, and mapped. It is never written to, so that this machine survives without a limit.
# deserves: 0
import mmap

kept = []


def answer(n):
    for _ in range(64):
        kept.append(bytearray(2**30))
    for _ in range(64):
        kept.append(mmap.mmap(-1, 2**30))
    return 0
