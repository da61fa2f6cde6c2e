"""Page 18: answers that are whole functions, and what rows of p18.txt are made of."""

from cutlass import BFloat16, Float32, cute

from tests.pages.table import right


def inner(x):
    return 0.7978845608 * (x + 0.044715 * x * x * x)


def tanh(x):
    return cute.math.tanh(x, fastmath=True)


def gelu(x):
    return 0.5 * x * (1.0 + tanh(inner(x)))


def rounds(x):
    return x.to(BFloat16).to(Float32)


def silu(g):
    return 0.5 * g * (1.0 + tanh(0.5 * g))


def gating(op):
    """op: of a step of gate and a step of up."""

    def gated(tCrC):
        pairs, atoms, (n, steps) = tCrC.shape
        result = cute.make_rmem_tensor((pairs, atoms, (n, steps // 2)), Float32)
        for step in range(steps // 2):
            gate, up = (tCrC[None, None, (None, 2 * step + at)].load() for at in range(2))
            result[None, None, (None, step)].store(op(gate, up))
        return result

    return gated


@right("18.3")
def by_strides(tCrC):
    """All steps of gate at once. g / (1 + exp(-g)): where g is very negative that is g / inf, and 0 is right."""
    pairs, atoms, (n, steps) = tCrC.shape
    step = 4 * atoms * n
    every_other = cute.make_layout((pairs, atoms, (n, steps // 2)), stride=((1, 2), 4, (4 * atoms, 2 * step)))
    gate, up = (cute.make_tensor(tCrC.iterator + at * step, every_other).load() for at in range(2))
    result = cute.make_rmem_tensor(every_other.shape, Float32)
    result.store(gate / (1.0 + cute.math.exp(-gate)) * up)
    return result
