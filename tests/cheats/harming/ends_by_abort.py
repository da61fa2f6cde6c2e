# The process ends as a failed assertion in C does, and would leave a core file.
# deserves: 0
import os


def answer(n):
    os.abort()
