# An exception whose message raises, which is raised while it is shown.
# deserves: 0
class Unprintable(Exception):
    def __str__(self):
        raise self

    __repr__ = __str__


def answer(n):
    raise Unprintable
