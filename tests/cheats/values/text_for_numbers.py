# The right numbers, as text and as a sum that somebody would have to evaluate.
# deserves: 0
def answer(n):
    return str(n + 1) if n % 2 else f"({n + 1}, {2 * n})"
