"""Which cells answers need, decided by names; and that no solution needs one that is left out."""

import pytest

from tutorlib.course.answers import names_of, needed_texts, trimmed


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        (("import a, b", "!a.f()"), ["import a", "a.f()"]),
        (("import a.b", "!a.f()"), ["import a.b", "a.f()"]),
        (("x = 1", "print(x)", "!pass"), ["pass"]),
        (("x = 1", "!print(x)", "x = 2"), ["x = 1", "print(x)", "x = 2"]),
        (("x = 1", "x = 2", "!print(x)"), ["x = 1", "x = 2", "print(x)"]),
        (("x = 1", "x += 2", "!print(x)"), ["x = 1", "x += 2", "print(x)"]),
        (("x = 1", "if y:\n    x = 2", "!print(x)"), ["x = 1", "if y:\n    x = 2", "print(x)"]),
        (("x = 1", "!raise OSError\nx = 2", "!print(x)"), ["x = 1", "raise OSError\nx = 2", "print(x)"]),
        (("x = []", "x.append(1)", "!print(x)"), ["x = []", "x.append(1)", "print(x)"]),
        (("x = []", "x[0] = 1", "!print(x)"), ["x = []", "x[0] = 1", "print(x)"]),
        (("x = 1", "!def f(x): return x"), ["def f(x): return x"]),
        (("!def f(): return x", "x = 1", "!f()"), ["def f(): return x", "x = 1", "f()"]),
        (("x = 1", "!class A:\n    y = x"), ["x = 1", "class A:\n    y = x"]),
        (("x = 1", "!y = [x for x in range(3)]"), ["y = [x for x in range(3)]"]),
        (("n = 1", "!y = [n for x in range(3)]"), ["n = 1", "y = [n for x in range(3)]"]),
        (
            ("def g(): return h()", "def h(): return 1", "!g()"),
            ["def g():\n    return h()", "def h():\n    return 1", "g()"],
        ),
        (
            ("def f():\n    global x\n    x = 1\nf()", "!print(x)"),
            ["def f():\n    global x\n    x = 1\nf()", "print(x)"],
        ),
        (("x = 1", "print(0)", "!eval('x')"), ["x = 1", "print(0)", "eval('x')"]),
        (("x = 1", "%time print(0)", "!print(x)"), ["x = 1", "%time print(0)", "print(x)"]),
        (("from a import *", "print(0)", "!x"), ["from a import *", "print(0)", "x"]),
        (("from __future__ import annotations", "x = 1", "!x"), ["x = 1", "x"]),
        (("def f(): x.append(1)", "x = []", "!f()"), ["def f():\n    x.append(1)", "x = []", "f()"]),
    ],
)
def test_what_stays(cells, kept):
    """Cells that begin with "!" are wanted."""
    texts, wanted = [text.removeprefix("!") for text in cells], [text.startswith("!") for text in cells]
    needed, read = needed_texts(texts, wanted)
    stay = [(text, whole) for text, whole, stays in zip(texts, wanted, needed, strict=True) if stays]
    assert [text if whole or read is None else trimmed(text, read) for text, whole in stay] == kept


@pytest.mark.parametrize("text", ["", "(" * 500, "x = \0", "%magic", "from a import *", "!ls"])
def test_text_that_is_no_plain_python_is_nothing_or_unknown(text):
    names = names_of(text)
    assert names is None or not names.binds
