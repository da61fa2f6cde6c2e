"""Page 02: answers that are whole functions, and what rows of p02.txt are made of."""

from cutlass import cute

from tests.pages.table import wrong


def per_key(key):
    """Counts what differs by this key of (shape, stride, dynamic)."""
    return lambda layouts, dynamic: len({key(shape, stride, dynamic) for shape, stride in layouts})


def right_key(shape, stride, dynamic):
    return (len(shape), stride.index(1)) if dynamic else (shape, stride)


def count_new(layouts, dynamic):
    met, compiled = [], 0
    for shape, stride in layouts:
        key = [len(shape), stride.index(1)] if dynamic else [shape, stride]
        if key in met:
            continue
        met.append(key)
        compiled += 1
    return compiled


@wrong("02.1", "does not compile, launches nothing")
@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Forgets to launch."""
