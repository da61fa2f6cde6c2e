# Layouts and shapes that are quickly sent and slowly looked at: more modes than anybody counts, and nested ones.
# deserves: 0
from tensor_layouts import Layout

MODES = 100_000
NESTED = 1
for _ in range(18):
    NESTED = (NESTED, NESTED)

VALUES = [
    Layout((1,) * MODES, (0,) * MODES),
    (0, Layout((2,) * 900 + (1,) * MODES, (0,) * (900 + MODES))),
    ((2,) * MODES, (1,) * MODES),
    [(0, 0)] * MODES,
    NESTED,
]


def answer(n):
    return VALUES[n % len(VALUES)]
