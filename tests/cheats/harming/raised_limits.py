# The limits of this process are lifted, and then used.
# deserves: 0
import resource
from contextlib import suppress

for name in ("RLIMIT_DATA", "RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_CPU"):
    with suppress(ValueError, OSError):
        resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

kept = []


def answer(n):
    for _ in range(64):
        kept.append(bytearray(2**30))
    return 0
