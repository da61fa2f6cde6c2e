"""Page 02: answers that are whole functions, and what rows of p02.txt are made of."""

from cutlass import cute

from tests.pages.table import wrong


@wrong("02.1", "does not compile, launches nothing")
@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Forgets to launch."""
