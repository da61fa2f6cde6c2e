# A list where a tuple is asked for.
# deserves: 0
def answer(n):
    return [n + 1, 2 * n]
