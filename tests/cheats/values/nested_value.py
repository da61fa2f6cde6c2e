# A tuple 20,000 deep.
# deserves: 0
def answer(n):
    value = ()
    for _ in range(20_000):
        value = (value,)
    return value
