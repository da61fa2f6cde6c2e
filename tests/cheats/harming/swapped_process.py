# Another program takes this process's place and says nothing.
# deserves: 0
import os


def answer(n):
    os.execvp("sleep", ["sleep", "3141"])
