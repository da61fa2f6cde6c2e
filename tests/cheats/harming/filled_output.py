# Output without an end: printed, written past Python, and shown.
# deserves: 0
import os

from IPython.display import display


def answer(n):
    for _ in range(3000):
        os.write(1, b"x" * 2**16)
        os.write(2, b"x" * 2**16)
    while True:
        print("x" * 2**12)
        display({"text/plain": "x" * 2**12}, raw=True)
