# The right numbers among others: one more element, one less, and each in a tuple of its own.
# deserves: 0
def answer(n):
    return [(n + 1, 2 * n, 0), (n + 1,), ((n + 1,), (2 * n,))][n % 3]
