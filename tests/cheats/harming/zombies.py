# Two hundred children that have ended, and that nobody waits for, beside a right answer.
# deserves: 2
import os

for _ in range(200):
    if not os.fork():
        os._exit(0)


def answer(n):
    return n + 1, 2 * n
