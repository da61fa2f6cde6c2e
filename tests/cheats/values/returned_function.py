# A function where numbers are asked for: whoever calls it is told that all is well.
# deserves: 0
def answer(n):
    return lambda *args, **kwargs: True
