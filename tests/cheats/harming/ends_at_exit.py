# What is registered for the end of the process does not end.
# deserves: 0
import atexit
import time

atexit.register(time.sleep, 3141)


def answer(n):
    raise SystemExit
