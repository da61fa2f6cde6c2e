# The interpreter finds no fault in anything.
# exercise: 06.1
# deserves: 0
from tutorlib.checking import cutile
from tutorlib.checking.interpreting import Interpretation

cutile.interpret = lambda *args, **kwargs: Interpretation(None)


@ct.kernel
def add(a, b, c, tile: ct.Constant[int]):
    pass
