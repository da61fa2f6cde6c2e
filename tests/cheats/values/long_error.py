# An exception with a message of 2 MB.
# deserves: 0
def answer(n):
    raise ValueError("x" * 2_000_000)
