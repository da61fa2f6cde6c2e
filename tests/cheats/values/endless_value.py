# A list that holds itself, and a dictionary that does.
# deserves: 0
def answer(n):
    value = [n]
    value.append({"value": value})
    return value
