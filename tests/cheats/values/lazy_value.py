# A generator, which is worth what is asked of it later; after it, one without an end.
# deserves: 0
from itertools import count


def answer(n):
    return iter((n + 1, 2 * n)) if n % 2 else count()
