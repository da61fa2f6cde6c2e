# Four million small numbers, where two are asked for.
# deserves: 0
def answer(n):
    return (0,) * 4_000_000
