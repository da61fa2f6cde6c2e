"""What nvcc refuses of Tile C++, and what the reader is told to do about it; nvcc's own words stand below."""

import pytest

from tests.pages.p08 import ADD, PROMISING
from tutorlib.compiling import cpp
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.errors import CompileFailed
from tutorlib.dsl.refusals import CPP, what_to_do

INDEX, SUM, STORED = "int i = ct::bid().x;", "A.load_masked(i) + B.load_masked(i)", "C.store_masked("
PRODUCT, SUMS = "ct::mma(x, ct::transpose(y), acc)", "ct::zeros<ct::tile<float, ct::shape<128, 128>>>()"
TILE_OF_A = "ct::shape{1024_ic}};\n    auto B"

REFUSED = {  # (source, what stands there, what a reader wrote in its place, words of the advice)
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


@pytest.mark.parametrize(("source", "old", "new", "words"), REFUSED.values(), ids=REFUSED)
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
    for source, old, new, _ in REFUSED.values():
        with pytest.raises(CompileFailed):
            compile_cpp(source.replace(old, new, 1))
    assert [rule.words for rule in CPP if not any(map(rule.about, said))] == []


def test_a_function_of_another_kind_is_no_kernel():
    with pytest.raises(CompileFailed, match=r"has 0 __tile_global__ functions.*`__tile_global__ void name"):
        compile_cpp(ADD.replace("__tile_global__", "__global__"))
