# The file of results is now a file, now a pipe that nobody reads, now a link to a file that has no end.
# deserves: 0
import os
import threading
from contextlib import suppress

path = os.environ["TUTORLIB_RESULTS"]


def change_it():
    while True:
        for make in (lambda: open(path, "x").close(), lambda: os.mkfifo(path), lambda: os.symlink("/dev/zero", path)):
            with suppress(OSError):
                os.remove(path)
            with suppress(OSError):
                make()


threading.Thread(target=change_it, daemon=True).start()


def answer(n):
    return 0
