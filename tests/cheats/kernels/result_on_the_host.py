# The host function computes while it is compiled: what it is given are stand-ins, and nothing is launched.
# exercise: 04.4
# deserves: 0
@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    for i in range(cute.size(c)):
        c[i] = a[i] + b[i]
