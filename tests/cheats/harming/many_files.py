# 30,000 empty files, and folders in folders until a path is too long.
# deserves: 0
import os
from contextlib import suppress

with suppress(OSError):
    for k in range(30_000):
        os.close(os.open(f"empty-{k}", os.O_CREAT))
here = os.getcwd()
with suppress(OSError):
    for _ in range(1500):
        os.mkdir("deeper")
        os.chdir("deeper")
os.chdir(here)


def answer(n):
    return 0
