# Small to send and without an end to whoever counts it: ranges, and layouts of more elements than there are.
# deserves: 0
from tensor_layouts import Layout

VALUES = [range(10**18), Layout((2**31, 2**31), (1, 2**31)), (range(10**18),) * 2, {"n": range(10**18)}]


def answer(n):
    return VALUES[n % len(VALUES)]
