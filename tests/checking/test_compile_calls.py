"""What cute.compile is called with, as plain data and back."""

import json

import cutlass
import pytest
import torch
from cutlass import cute
from cutlass.base_dsl.common import DSLUserCodeError
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor, make_fake_stream, make_fake_tensor
from hypothesis import given
from hypothesis import strategies as st

from tutorlib.checking.compile_calls import (
    CompiledBefore,
    WithoutCompile,
    argument_in_words,
    argument_of,
    compilations_noted,
    compile_requests,
    options_kept,
)
from tutorlib.kernels.doubling import double_on_cpu

SIZES = st.integers(1, 2**20)
SYMBOLS = st.builds(cute.SymInt, st.sampled_from([32, 64]), divisibility=st.sampled_from([1, 2, 16]))
MODES = SIZES | SYMBOLS
MATRIX = torch.zeros(4, 6).T


@given(st.lists(st.tuples(MODES, MODES), min_size=1, max_size=4), st.sampled_from([None, 4, 16, 128]))
def test_a_fake_tensor_is_told_and_made_again(modes, align):
    fake = make_fake_tensor(
        cutlass.Float32, tuple(n for n, _ in modes), stride=tuple(d for _, d in modes), assumed_align=align
    )
    told = json.loads(json.dumps(argument_in_words(fake)))
    again = argument_of(told, {})
    for part, same in zip((*fake.shape, *fake.stride), (*again.shape, *again.stride), strict=True):
        if isinstance(part, int):
            assert same == part
        else:
            assert (same.width, same.divisibility) == (part.width, part.divisibility)
    assert (again.element_type, again.memspace, again._assumed_align) == (
        fake.element_type,
        fake.memspace,
        fake._assumed_align,
    )


def test_modes_that_are_one_symbol_stay_one():
    n = cute.sym_int()
    symbols = {}
    x, y = (argument_of(argument_in_words(make_fake_compact_tensor(cutlass.Float16, (n,))), symbols) for _ in range(2))
    assert x.shape[0] is y.shape[0]


@pytest.mark.parametrize(
    ("marked", "shape", "stride"),
    [
        (lambda x: x, [6, 4], [1, 6]),
        (lambda x: x.mark_layout_dynamic(), [[32, 1, None], [32, 1, None]], [1, [64, 1, None]]),
        (lambda x: x.mark_compact_shape_dynamic(0, divisibility=2), [[32, 2, None], 4], [1, [64, 2, None]]),
    ],
    ids=["static", "layout", "one mode"],
)
def test_a_torch_tensors_marks_are_told(marked, shape, stride):
    told = argument_in_words(marked(from_dlpack(MATRIX, assumed_align=16)))
    assert told == {"dtype": "Float32", "memory": "generic", "align": 16, "shape": shape, "stride": stride}


def test_what_is_no_tensor_is_told():
    assert argument_of(argument_in_words(make_fake_stream(use_tvm_ffi_env_stream=True)), {}).use_tvm_ffi_env_stream
    number = argument_of(argument_in_words(cutlass.Int32(7)), {})
    assert (type(number), number.value) == (cutlass.Int32, 7)
    assert [argument_of(argument_in_words(one), {}) for one in (None, True, 3, 0.5)] == [None, True, 3, 0.5]
    with pytest.raises(ValueError, match="was given a Tensor"):
        argument_of(argument_in_words(MATRIX), {})


def test_compilations_are_noted_with_how_their_results_are_called():
    views = [from_dlpack(torch.zeros(3), enable_tvm_ffi=True).mark_layout_dynamic() for _ in range(2)]
    with compilations_noted() as noted:
        cute.compile(double_on_cpu, *views, options="--enable-tvm-ffi")
        cute.compile(double_on_cpu, *views)
        with pytest.raises(Exception, match="argument"):
            cute.compile(double_on_cpu, *views, *views)
    cute.compile(double_on_cpu, *views)
    assert noted == [True, False]


def test_a_refused_compilation_leaves_no_options_to_the_next_one():
    """The DSL keeps them: a function that is called next was compiled for TVM-FFI and its symbol not found."""

    @cute.jit
    def takes_one(n: cutlass.Int32):
        pass

    @cute.jit
    def called_next():
        pass

    with options_kept(), pytest.raises(DSLUserCodeError, match="CALL_MISSING_ARG"):
        cute.compile(takes_one, options="--enable-tvm-ffi")
    called_next()


def test_requests_compile_nothing_and_note_the_calls_of_their_results():
    x = torch.zeros(4)
    with compile_requests() as requests:
        kept = cute.compile(double_on_cpu, from_dlpack(x), from_dlpack(x))
        kept(x, x)
        (request,) = requests
        assert request.host is double_on_cpu
        assert [one.shape for one in request.arguments] == [(4,), (4,)]
        assert [tuple(map(id, call)) for call in request.calls] == [(id(x), id(x))]
        with pytest.raises(WithoutCompile, match="double_on_cpu"):
            double_on_cpu(from_dlpack(x), from_dlpack(x))
    assert request.compiled is None


def test_a_result_that_is_kept_compiles_after_the_block():
    x, y = torch.ones(4), torch.zeros(4)
    with compile_requests():
        kept = cute.compile(double_on_cpu, from_dlpack(x), from_dlpack(y))
    kept(from_dlpack(x), from_dlpack(y))
    assert y.tolist() == [2.0] * 4


def test_nothing_that_was_compiled_before_runs_in_the_block():
    x, y = torch.ones(4), torch.zeros(4)
    compiled = cute.compile(double_on_cpu, from_dlpack(x), from_dlpack(y))
    with compile_requests(), pytest.raises(CompiledBefore):
        compiled(from_dlpack(x), from_dlpack(y))
    assert not y.any()
