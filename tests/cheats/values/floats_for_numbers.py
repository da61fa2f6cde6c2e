# Floats where whole numbers are asked for: equal, and of another kind.
# deserves: 0
def answer(n):
    return float(n + 1), 2.0 * n
