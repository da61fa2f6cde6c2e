# The limits of this process are lowered until it can open nothing and start nothing.
# deserves: 0
import resource


def answer(n):
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    return 0
