# An endless loop in C, which no interrupt of Python's reaches.
# deserves: 0
def answer(n):
    return sum(range(10**14)), 0
