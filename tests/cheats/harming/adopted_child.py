# A child in a session of its own that outlives its kernel, beside a right answer.
# deserves: 2
import subprocess

subprocess.Popen(["sleep", "3141"], start_new_session=True, cwd="/")


def answer(n):
    return n + 1, 2 * n
