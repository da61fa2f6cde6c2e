"""Answers whose values lie about themselves. `tests.strangers` says how a cell is read."""

import sys

import numpy as np
import pytest
from tensor_layouts import Layout


# %% array_protocol
# An object that is an array to whoever asks: its elements are chosen when they are looked at.
class Chosen:
    dtype, shape, ndim, nbytes = np.dtype(int), (2,), 1, 16

    def __array__(self, dtype=None, copy=None):
        raise SystemExit

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self

    def __eq__(self, other):
        return True


def answer(n):
    return Chosen()


# %% asks_for_input
# It asks whoever grades it for the answer.
def answer(n):
    return eval(input(f"answer({n}) = "))


# %% endless_range
# Small to send and without an end to whoever counts it: ranges, and layouts of more elements than there are.
VALUES = [range(10**18), Layout((2**31, 2**31), (1, 2**31)), (range(10**18),) * 2, {"n": range(10**18)}]


def answer(n):
    return VALUES[n % len(VALUES)]


# %% endless_value
# A list that holds itself, and a dictionary that does.
def answer(n):
    value = [n]
    value.append({"value": value})
    return value


# %% floats_for_numbers
# Whole floats where integers are asked for: equal, and right.
# deserves: 2
def answer(n):
    return float(n + 1), 2.0 * n


# %% huge_number
# A number with 400,000 digits, which takes long to write down and which Python refuses to read.
def answer(n):
    return 1 << 1_300_000, 0


# %% index_object
# Numbers to whoever asks in one of Python's other ways: index, int, float, hash, and order.
import functools


@functools.total_ordering
class Number:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n

    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return True

    __int__ = __index__
    __hash__ = __float__ = __complex__ = None


def answer(n):
    return Number(n + 1), Number(2 * n)


# %% lazy_value
# A generator, which is worth what is asked of it later; after it, one without an end.
from itertools import count


def answer(n):
    return iter((n + 1, 2 * n)) if n % 2 else count()


# %% list_for_tuple
# A list where a tuple is asked for: right.
# deserves: 2
def answer(n):
    return [n + 1, 2 * n]


# %% lone_surrogate
# A string that is no text: half of a surrogate pair, which UTF-8 has no word for.
def answer(n):
    return "\ud800", 0


# %% long_error
# An exception with a message of 2 MB.
def answer(n):
    raise ValueError("x" * 2_000_000)


# %% lying_array
# An array by inheritance: every function of NumPy's says True of it, and as a list it is what it is compared with.
class Anything:
    def __eq__(self, other):
        return True


class Lying(np.ndarray):
    def __array_ufunc__(self, *args, **kwargs):
        return True

    def __array_function__(self, *args, **kwargs):
        return True

    def __eq__(self, other):
        return True

    def tolist(self):
        return [Anything(), Anything()]


def answer(n):
    return np.zeros(2, int).view(Lying)


# %% lying_bool
# Right only as far as truth goes: numbers that are not zero where numbers are asked for.
def answer(n):
    return np.True_, bool(n)


# %% lying_float
# Floats that compare equal to everything, in a tuple that is one.
class Lying(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__
    __hash__ = float.__hash__


def answer(n):
    return Lying("nan"), Lying("nan")


# %% lying_int
# Its numbers are ints by inheritance that equal everything and hide behind int's own class.
class Lying(int):
    __class__ = int

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def answer(n):
    return Lying(0), Lying(0)


# %% lying_text
# A string whose digits are those of whatever it is compared with.
class Lying(str):
    def __eq__(self, other):
        return True

    def __int__(self):
        return 0

    __hash__ = str.__hash__


def answer(n):
    return Lying("(1, 2)")


# %% lying_tuple
# What it returns is a tuple by inheritance with the length, the elements and the equality that are asked for.
class Lying(tuple):
    __class__ = tuple

    def __eq__(self, other):
        return True

    def __len__(self):
        return 2

    def __reduce__(self):
        return tuple, ((0, 0),)

    __hash__ = tuple.__hash__


def answer(n):
    return Lying((0, 0))


# %% markup_error
# A message that is a script in a page, a formula in a table, and colours in a terminal.
def answer(n):
    raise ValueError("=cmd|'/C calc'!A0 <script>alert(1)</script> \x1b[31m[bold]{{7*7}}\n,\"' \0")


# %% million_zeros
# A million zeros where two numbers are asked for: whoever tells them one by one, call after call, tells them long.
def answer(n):
    return np.zeros(2**20, np.int64)


# %% minus_zero
# Numbers that equal what is asked for and are none of its kind: complex ones, minus zero, halves of numbers.
def answer(n):
    return [(complex(n + 1), complex(2 * n)), (n + 1.0, -0.0), (np.float64(n + 1), np.float16(2 * n % 2048))][n % 3]


# %% named_like_the_wire
# Dictionaries and lists that look like what the judge and the kernel say to each other.
RETURNED = [
    {"kind": "tuple", "items": [1, 2]},
    {"function": 0},
    {"tuple": [1, 0], "type": "tuple", "value": [1, 0]},
    ["returned", (1, 0)],
    ("raised", "CannotCross", ""),
]


def answer(n):
    return RETURNED[n % len(RETURNED)]


# %% named_tuple_that_lies
# A tuple with names, whose fields and whose words say what is asked for; its elements do not.
from typing import NamedTuple


class Pair(NamedTuple):
    following: int
    double: int

    def __repr__(self):
        return "(1, 0)"


Pair.__module__, Pair.__qualname__ = "builtins", "tuple"


def answer(n):
    return Pair(0, 1)


# %% nested_value
# A tuple 20,000 deep.
def answer(n):
    value = ()
    for _ in range(20_000):
        value = (value,)
    return value


# %% not_a_layout
# A class that says it is a layout, and equals everything.
class Layout:
    shape = stride = (1,)

    def __eq__(self, other):
        return True


Layout.__module__ = "tensor_layouts"


def answer(n):
    return Layout()


# %% not_numbers
# NaN and infinity, which equal nothing or everything larger, and which JSON has no word for.
def answer(n):
    return float("nan"), float("inf")


# %% not_numpys
# A class that says it is NumPy's: what makes plain values of NumPy's would call its tolist.
class Anything(tuple):
    def __eq__(self, other):
        return True

    __hash__ = tuple.__hash__


class Number:
    def tolist(self):
        return Anything()


Number.__module__ = "numpy"


def answer(n):
    return Number()


# %% object_array
# An array of objects that equal everything.
class Anything:
    def __eq__(self, other):
        return True


def answer(n):
    return np.array([Anything(), Anything()], dtype=object)


# %% raises_exception
# NBVAL_RAISES_EXCEPTION
# The line above tells nbval that the cell may raise.
def answer(n):
    raise ValueError("this exception is allowed, says the comment")


# %% raises_exit
# The answer ends with the exceptions that end loops, tests and processes.
ENDS = [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, StopAsyncIteration, pytest.exit.Exception]


def answer(n):
    raise ENDS[n % len(ENDS)](0)


# %% raises_its_own
# The exception says that it is one of the course's own, which the judge would take for its own finding.
class Unwritten(BaseException):
    pass


Unwritten.__module__ = "tutorlib.checking.exercise"


class CannotCross(Unwritten):
    pass


CannotCross.__module__ = "tutorlib.grading.remote_judge"


def answer(n):
    raise CannotCross("the judge must sit in the kernel")


# %% raises_skip
# The answer ends with the exception with which a test says that it was skipped.
def answer(n):
    pytest.skip("no GPU")


# %% raising_error
# An exception whose message raises, which is raised while it is shown.
class Unprintable(Exception):
    def __str__(self):
        raise self

    __repr__ = __str__


def answer(n):
    raise Unprintable


# %% record_array
# Arrays of kinds that plain data has no word for: records, dates, fields that overlap, no elements at all.
KINDS = [
    np.zeros(2, "datetime64[s]"),
    np.zeros(2, [("a", int), ("b", object)]),
    np.zeros(2, {"names": ["a", "b"], "formats": [int, int], "offsets": [0, 4]}),
    np.empty((2, 0)),
    np.zeros((), "V16"),
]


def answer(n):
    return KINDS[n % len(KINDS)]


# %% returned_function
# A function where numbers are asked for: whoever calls it is told that all is well.
def answer(n):
    return lambda *args, **kwargs: True


# %% returned_judge
# What it returns is what calls it: the frame, the code and the globals of the judge.
def answer(n):
    frame = sys._getframe(1)
    return frame, frame.f_code, frame.f_globals


# %% right_the_first_time
# Right while the page itself runs it, wrong for whoever calls later: what the page has seen must not count.
def answer(n):
    frame, files = sys._getframe(), []
    while frame:
        files.append(frame.f_code.co_filename)
        frame = frame.f_back
    inside = any(file.endswith("notebook/check.py") for file in files)
    return (n + 1, 2 * n) if inside else (0, 0)


# %% strided_array
# Arrays that are more than they hold: 2**50 elements of one number, and a window on memory that is not theirs.
def answer(n):
    endless = np.lib.stride_tricks.as_strided(np.zeros(1, np.int64), (2**50,), (0,))
    if n == 1:
        return np.broadcast_to(np.int64(n), (2**13, 2**13))
    return endless if n % 2 else np.broadcast_to(np.int64(n), (2**20, 2**20))


# %% surrogate_error
# An exception whose message is no text, and which cannot be printed.
class Unprintable(Exception):
    def __str__(self):
        return "\ud800" * 100


def answer(n):
    raise Unprintable


# %% text_for_numbers
# The right numbers, as text and as a sum that somebody would have to evaluate.
def answer(n):
    return str(n + 1) if n % 2 else f"({n + 1}, {2 * n})"


# %% too_many
# The right numbers among others: one more element, one less, and each in a tuple of its own.
def answer(n):
    return [(n + 1, 2 * n, 0), (n + 1,), ((n + 1,), (2 * n,))][n % 3]


# %% truth_for_numbers
# True where 1 is asked for: right in one case of two.
# deserves: 1
def answer(n):
    return (True if n == 0 else n + 1), 2 * n


# %% wide_layout
# Layouts and shapes that are quickly sent and slowly looked at: more modes than anybody counts, and nested ones.
MODES = 100_000
NESTED = 1
for _ in range(18):
    NESTED = (NESTED, NESTED)

VALUES = [
    Layout((1,) * MODES, (0,) * MODES),
    (0, Layout((2,) * 900 + (1,) * MODES, (0,) * (900 + MODES))),
    ((2,) * MODES, (1,) * MODES),
    [(0, 0)] * MODES,
    NESTED,
]


def answer(n):
    return VALUES[n % len(VALUES)]


# %% wide_value
# Four million small numbers, where two are asked for.
def answer(n):
    return (0,) * 4_000_000
