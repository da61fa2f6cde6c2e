# An exception whose message is no text, and which cannot be printed.
# deserves: 0
class Unprintable(Exception):
    def __str__(self):
        return "\ud800" * 100


def answer(n):
    raise Unprintable
