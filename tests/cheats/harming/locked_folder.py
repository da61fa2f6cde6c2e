# Folders and files that nobody may read or remove.
# deserves: 0
import os

os.makedirs("locked/inside")
with open("locked/inside/file", "w") as file:
    file.write("x")
os.chmod("locked/inside", 0)
os.chmod("locked", 0)
os.chmod(".", 0o500)


def answer(n):
    return 0
