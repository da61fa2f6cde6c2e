"""What readers are told when a compiler refuses: each rule provoked for real, the compiler's own words kept below."""

import re
from unittest import mock

import cuda.tile as ct
import pytest
import torch

from tests.dsl import refused_cute
from tests.pages.p09 import ADD, PROMISING
from tutorlib.checking.exercise import Exercise
from tutorlib.compiling import cpp, errors
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.dsls import compile_cute, compile_cutile
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.refusals import advice_about, advice_tables, what_to_do

REFUSED_TILES = []


def refused_tiles(kernel):
    REFUSED_TILES.append(kernel)
    return kernel


@refused_tiles
@ct.kernel
def stores_sums_in_a_matrix(x, y):
    ct.store(y, (0, 0), ct.sum(ct.load(x, (0, 0), (16, 16)), 1))


@refused_tiles
@ct.kernel
def begins_with_a_number(x, y):
    total = 0
    for j in range(4):
        total = total + ct.load(x, (0, j), (16, 16))
    ct.store(y, (0, 0), total)


@refused_tiles
@ct.kernel
def has_another_name(x, y):
    ct.store(y, (0, 0), ct.load(x, (ct.bidx(0), 0), (16, 16)))


@refused_tiles
@ct.kernel
def adds_to_an_array(x, y):
    ct.store(y, (0, 0), x + 1)


@refused_tiles
@ct.kernel
def has_a_comprehension(x, y):
    tiles = [ct.load(x, (0, j), (16, 16)) for j in range(2)]
    ct.store(y, (0, 0), tiles[0])


@refused_tiles
@ct.kernel
def calls_torch(x, y):
    ct.store(y, (0, 0), torch.relu(ct.load(x, (0, 0), (16, 16))))


@refused_tiles
@ct.kernel
def asks_a_tile(x, y):
    tile = ct.load(x, (0, 0), (16, 16))
    if tile > 0:
        ct.store(y, (0, 0), tile)


@refused_tiles
@ct.kernel
def half_an_index(x, y):
    ct.store(y, (0, 0), ct.load(x, (ct.bid(0) / 2, 0), (16, 16)))


@refused_tiles
@ct.kernel
def stores_what_is_too_wide(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (16, 16)).astype(ct.float64))


MATRIX = TensorSpec((64, 64))


class CompilesOnly(Exercise):
    def judge(self, answer):
        raise answer.answer


@pytest.fixture(scope="module")
def caught():
    """Each refused function's CompileFailed, and the compiler's line, which a message may cut."""
    compile_them = [lambda case=case: compile_cute(case[0], [case[1]] * 2, case[2]) for case in refused_cute.REFUSED]
    compile_them += [lambda kernel=kernel: compile_cutile(kernel, [MATRIX] * 2, "sm_80") for kernel in REFUSED_TILES]
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


def not_provoked(said, *tables):
    rows = [row for table in tables for row in advice_tables()[table]]
    return [row for row in rows if not any(advice_about(message, *row) for message in said)]


def test_each_rule_is_provoked(caught):
    """No rule waits for words that this version of the compilers does not say."""
    assert not_provoked(caught[1], "cute", "inlined", "cutile") == []


def test_groups_of_the_compilers_words_are_filled_in(caught):
    told = "\n".join(map(str, caught[0]))
    assert "`total` is Int32 before and Float32 after" in told
    assert "bits; the compiler can prove only 64" in told
    assert "`cute.arch` has no `syncthreads`. Did you mean `cute.arch.sync_threads`?" in told
    assert "It is `cute.arch.thread_idx`." in told
    assert not re.search(r"\\\d", told)


def test_a_refusal_that_is_not_known_keeps_its_own_words():
    assert what_to_do("register allocation failed") == ""
    assert CompileFailed("line 3, `x`: no").lines == ("line 3, `x`: no",)


INDEX, SUM, STORED = "int i = ct::bid().x;", "A.load_masked(i) + B.load_masked(i)", "C.store_masked("
PRODUCT, SUMS = "ct::mma(x, ct::transpose(y), acc)", "ct::zeros<ct::tile<float, ct::shape<128, 128>>>()"
TILE_OF_A = "ct::shape{1024_ic}};\n    auto B"

REFUSED_CPP = {  # (source, what stands there, what a reader wrote in its place, words of the advice)
    "a_thread": (ADD, "ct::bid().x", "blockIdx.x", "no threads"),
    "three_numbers": (ADD, "ct::bid().x", "ct::bid()", "is three numbers"),
    "pythons_bid": (ADD, "ct::bid().x", "ct::bid(0)", "takes none"),
    "run_time_tile": (ADD, TILE_OF_A, TILE_OF_A.replace("_ic", ""), "known while compiling"),
    "place_first": (ADD, f"{SUM}, i", f"i, {SUM}", "`store_masked` takes one index"),
    "no_index": (ADD, "A.load_masked(i)", "A.load_masked()", "`load_masked` takes one index"),
    "other_lengths": (ADD, TILE_OF_A, TILE_OF_A.replace("1024", "512"), "Both sides of `+` are tiles of one shape"),
    "loads_from_a_span": (ADD, "A.load_masked(i)", "ct::tensor_span{a, ct::extents{n}}.load_masked(i)", "A span only"),
    "another_method": (ADD, "A.load_masked", "A.read", "A view has no `read`"),
    "stds_exp": (ADD, SUM, "std::exp(A.load_masked(i))", "`ct::exp(tile)`"),
    "cs_expf": (ADD, SUM, "expf(A.load_masked(i))", "A tile is not one float"),
    "a_barrier": (ADD, INDEX, INDEX + " __syncthreads();", "This call is for threads"),
    "shared": (ADD, INDEX, INDEX + " __shared__ float s[4];", "the compiler's choice"),
    "not_turned": (PROMISING, PRODUCT, "ct::mma(x, y, acc)", "ct::transpose turns a tile"),
    "zeros_of_sizes": (PROMISING, SUMS, "ct::zeros<float>(128, 128)", "is told the type of the tile"),
    "plain_promise": (PROMISING, "assume_divisible(m, 8_ic)", "assume_divisible(m, 8)", "with `_ic` behind it"),
}


@pytest.mark.parametrize(("source", "old", "new", "words"), REFUSED_CPP.values(), ids=REFUSED_CPP)
def test_a_refusal_says_what_to_do_and_keeps_the_compilers_words(source, old, new, words):
    assert old in source
    with pytest.raises(CompileFailed) as caught:
        compile_cpp(source.replace(old, new, 1))
    advice, original = caught.value.lines
    assert advice.startswith("line ")
    assert words in advice
    assert "The compiler's words: " in original


@pytest.mark.long
def test_each_rule_of_nvccs_words_is_provoked(monkeypatch):
    """No rule waits for words that this version of nvcc does not say; the message keeps a part of them alone."""
    said = []
    monkeypatch.setattr(cpp, "what_to_do", lambda words, known: said.append(words) or what_to_do(words, known))
    for source, old, new, _ in REFUSED_CPP.values():
        with pytest.raises(CompileFailed):
            compile_cpp(source.replace(old, new, 1))
    assert not_provoked(said, "cpp") == []


def test_a_function_of_another_kind_is_no_kernel():
    with pytest.raises(CompileFailed, match=r"has 0 __tile_global__ functions.*`__tile_global__ void name"):
        compile_cpp(ADD.replace("__tile_global__", "__global__"))
