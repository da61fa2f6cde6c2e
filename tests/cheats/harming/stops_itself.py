# The kernel stops itself: it is alive and answers nothing.
# deserves: 0
import os
import signal


def answer(n):
    os.kill(os.getpid(), signal.SIGSTOP)
    return 0
