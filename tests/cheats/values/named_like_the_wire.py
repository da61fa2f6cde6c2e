# Dictionaries and lists that look like what the judge and the kernel say to each other.
# deserves: 0
RETURNED = [
    {"kind": "tuple", "items": [1, 2]},
    {"function": 0},
    {"tuple": [1, 0], "type": "tuple", "value": [1, 0]},
    ["returned", (1, 0)],
    ("raised", "CannotCross", ""),
]


def answer(n):
    return RETURNED[n % len(RETURNED)]
