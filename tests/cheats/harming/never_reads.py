# Questions to the judge without an end, whose replies nobody reads: whoever writes them waits.
# deserves: 0
import time
from multiprocessing.connection import Connection

from tutorlib.grading.wire import Writer

send_bytes = Connection.send_bytes
question = Writer(lambda function: {"mine": 0}).message(["call", 99, (), {}])


def send(self, message, *args):
    for _ in range(100_000):
        send_bytes(self, question)
    time.sleep(3141)


Connection.send_bytes = send


def answer(n):
    return 0
