"""What readers are told when a compiler refuses: each rule provoked for real, the compiler's own words kept below."""

import re
from unittest import mock

import pytest

from tests.dsl import refused_copies, refused_cute, refused_cutile  # noqa: F401
from tutorlib.checking.exercise import Exercise
from tutorlib.compiling import errors
from tutorlib.compiling.dsls import compile_cute, compile_cutile
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.refusals import CUTE, CUTILE, INLINED, what_to_do

MATRIX = TensorSpec((64, 64))


class CompilesOnly(Exercise):
    def judge(self, answer):
        raise answer.answer


@pytest.fixture(scope="module")
def caught():
    """Each refused function's CompileFailed, and the compiler's line, which a message may cut."""
    compile_them = [lambda case=case: compile_cute(case[0], [case[1]] * 2, case[2]) for case in refused_cute.REFUSED]
    compile_them += [
        lambda kernel=kernel: compile_cutile(kernel, [MATRIX] * 2, "sm_80") for kernel in refused_cutile.REFUSED
    ]
    found, heard = [], []
    with mock.patch.object(errors, "what_to_do", lambda words: heard.append(words) or what_to_do(words)):
        for compile_it in compile_them:
            with pytest.raises(CompileFailed) as one:
                compile_it()
            found.append(one.value)
    return found, heard


def test_each_refusal_gets_advice_and_keeps_the_compilers_words(caught):
    exercise = CompilesOnly(id="99.1", title="a kernel", points=1)
    for failed in caught[0]:
        assert failed.original
        assert "\n" not in str(failed)
        assert f"The compiler's words: {failed.original}" in exercise.grade(failed).message


def test_each_rule_is_provoked(caught):
    """No rule waits for words that this version of the compilers does not say."""
    assert [rule.words for rule in (*CUTE, *INLINED, *CUTILE) if not any(map(rule.about, caught[1]))] == []


def test_groups_of_the_compilers_words_are_filled_in(caught):
    told = "\n".join(map(str, caught[0]))
    assert "`total` is Int32 before and Float32 after" in told
    assert "multiple of it, and here the compiler can be sure of 64 bits" in told
    assert "`cute.arch` has no `syncthreads`. Did you mean `cute.arch.sync_threads`?" in told
    assert "It is `cute.arch.thread_idx`." in told
    assert not re.search(r"\\\d", told)


def test_a_refusal_that_is_not_known_keeps_its_own_words():
    assert what_to_do("register allocation failed") == ""
    assert CompileFailed("line 3, `x`: no").lines == ("line 3, `x`: no",)
