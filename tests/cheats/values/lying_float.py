# Floats that compare equal to everything, in a tuple that is one.
# deserves: 0
class Lying(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__
    __hash__ = float.__hash__


def answer(n):
    return Lying("nan"), Lying("nan")
