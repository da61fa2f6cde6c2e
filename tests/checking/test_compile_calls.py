"""What cute.compile is called with, noted."""

import cutlass
import pytest
import torch
from cutlass import cute
from cutlass.base_dsl.common import DSLUserCodeError
from cutlass.cute.runtime import from_dlpack, make_fake_tensor

from tutorlib.checking.compile_calls import (
    CompiledBefore,
    TensorType,
    WithoutCompile,
    compilations_noted,
    compile_requests,
    options_kept,
    tensor_type,
)
from tutorlib.kernels.doubling import double_on_cpu

MATRIX = torch.zeros(4, 6).T


@pytest.mark.parametrize(
    ("marked", "shape", "stride"),
    [
        (lambda x: x, (6, 4), (1, 6)),
        (lambda x: x.mark_layout_dynamic(), (None, None), (1, None)),
        (lambda x: x.mark_compact_shape_dynamic(0, divisibility=2), (None, 4), (1, None)),
    ],
    ids=["static", "layout", "one mode"],
)
def test_what_is_known_of_a_wrapped_tensor(marked, shape, stride):
    assert tensor_type(marked(from_dlpack(MATRIX, assumed_align=16))) == TensorType(16, shape, stride)


def test_what_is_known_of_a_tensor_without_data():
    fake = make_fake_tensor(cutlass.Float32, (4, cute.SymInt(32)), stride=(1, 4), assumed_align=128)
    assert tensor_type(fake) == TensorType(128, (4, None), (1, 4))
    assert tensor_type(MATRIX) is None


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
