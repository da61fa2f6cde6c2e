# Arrays of kinds that plain data has no word for: records, dates, fields that overlap, no elements at all.
# deserves: 0
import numpy as np

KINDS = [
    np.zeros(2, "datetime64[s]"),
    np.zeros(2, [("a", int), ("b", object)]),
    np.zeros(2, {"names": ["a", "b"], "formats": [int, int], "offsets": [0, 4]}),
    np.empty((2, 0)),
    np.zeros((), "V16"),
]


def answer(n):
    return KINDS[n % len(KINDS)]
