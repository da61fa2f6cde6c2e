# A string that is no text: half of a surrogate pair, which UTF-8 has no word for.
# deserves: 0
def answer(n):
    return "\ud800", 0
