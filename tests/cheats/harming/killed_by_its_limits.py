# The kernel sends itself past limits that end a process: of processor time, of file size, of its stack.
# deserves: 0
import resource
import sys


def answer(n):
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    resource.setrlimit(resource.RLIMIT_STACK, (2**16, 2**16))
    sys.setrecursionlimit(10**9)
    return answer(n)
