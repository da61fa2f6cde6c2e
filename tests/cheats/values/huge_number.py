# A number with 400,000 digits, which takes long to write down and which Python refuses to read.
# deserves: 0
def answer(n):
    return 1 << 1_300_000, 0
