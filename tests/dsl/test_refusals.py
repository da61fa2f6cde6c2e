"""What readers are told when a compiler refuses: each kind provoked for real, the compiler's own words kept below."""

from functools import cache
from unittest import mock

import pytest

from tests.dsl import refused_arguments, refused_copies, refused_cute, refused_cutile, refused_inlined, refused_times  # noqa: F401
from tutorlib.checking.exercise import Exercise
from tutorlib.compiling import errors
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.cutile import compile_cutile
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.refusals import CUTE, CUTILE, INLINED, what_to_do

MATRIX = TensorSpec((64, 64))
HEARD = []  # the compilers' words, whole: what a message keeps of them may be cut


class CompilesOnly(Exercise):
    def judge(self, answer):
        raise answer.answer


def told(failed):
    """The verdict's lines, as `check` shows them."""
    exercise = CompilesOnly(id="99.1", title="a kernel", points=1)
    return exercise.grade(failed).message


@pytest.mark.parametrize(
    ("host", "tensor", "words"), refused_cute.REFUSED, ids=[host.__name__ for host, _, _ in refused_cute.REFUSED]
)
def test_a_sentence_says_what_to_do_about_a_refusal_of_cute(host, tensor, words):
    failed = caught_cute(host, tensor)
    assert words in str(failed)
    assert "\n" not in str(failed)
    assert f"The compiler's words: {failed.original}" in told(failed)


@pytest.mark.parametrize(
    ("kernel", "words"), refused_cutile.REFUSED, ids=[kernel._pyfunc.__name__ for kernel, _ in refused_cutile.REFUSED]
)
def test_a_sentence_says_what_to_do_about_a_refusal_of_cutile(kernel, words):
    failed = caught_cutile(kernel)
    assert words in str(failed)
    assert "\n" not in str(failed)
    assert failed.original


def test_a_refusal_that_is_not_known_keeps_its_own_words():
    assert what_to_do("register allocation failed") == ""
    assert CompileFailed("line 3, `x`: no").lines == ("line 3, `x`: no",)


def test_each_rule_is_provoked():
    """No rule waits for words that this version of the compilers does not say."""
    for host, tensor, _ in refused_cute.REFUSED:
        caught_cute(host, tensor)
    for kernel, _ in refused_cutile.REFUSED:
        caught_cutile(kernel)
    unused = [rule.words for rule in (*CUTE, *INLINED, *CUTILE) if not any(map(rule.about, HEARD))]
    assert not unused


def hear(words):
    HEARD.append(words)
    return what_to_do(words)


@cache
def caught_cute(host, tensor):
    with pytest.raises(CompileFailed) as caught, mock.patch.object(errors, "what_to_do", hear):
        compile_cute(host, [tensor, tensor], getattr(host, "arch", "sm_90a"))
    return caught.value


@cache
def caught_cutile(kernel):
    with pytest.raises(CompileFailed) as caught, mock.patch.object(errors, "what_to_do", hear):
        compile_cutile(kernel, [MATRIX, MATRIX], "sm_80")
    return caught.value
