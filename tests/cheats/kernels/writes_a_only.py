# It copies one operand, which is right wherever the other is zero: a kernel, and a wrong one.
# exercise: 06.1
# deserves: 0
@ct.kernel
def add(a, b, c, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (tile,)))
