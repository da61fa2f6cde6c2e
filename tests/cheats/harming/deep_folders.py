# Folders in folders beside the sockets, deeper than Python's stack: who measures or removes them must not fall over.
# deserves: 0
import os
from pathlib import Path

from ipykernel import get_connection_file

door = Path(get_connection_file()).parent
here = os.getcwd()
os.chdir(door)
for _ in range(1500):
    os.mkdir("deeper")
    os.chdir("deeper")
os.chdir(here)


def answer(n):
    return 0
