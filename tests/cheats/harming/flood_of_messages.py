# A hundred thousand small outputs, each a message of its own.
# deserves: 0
from IPython.display import clear_output, display


def answer(n):
    for k in range(100_000):
        display(k)
        clear_output()
    return 0
