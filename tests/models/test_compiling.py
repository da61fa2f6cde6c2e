"""What compiles again, and where members lie: held to the real CuTe."""

from itertools import product
from unittest import mock

import cutlass
import pytest
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from cutlass.cutlass_dsl import CuTeDSL

from tutorlib.exercises import p17 as costs
from tutorlib.models.compiling import DirectCall, compilations_of, per_call, struct_layout

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
LISTS = {name: next(iter(drawn))[0] for name, drawn in costs.COUNTED.items()}


def make_function(name):
    @cute.jit
    def function(x: cute.Tensor, factor: cutlass.Constexpr):
        cute.printf(name + " {}", cutlass.Int32(3) * factor)

    return function


FUNCTIONS = {name: make_function(name) for name in LISTS}  # alive: CuTe forgets what it compiled for those that are not


def view(call):
    call = DirectCall(*call)
    tensor = torch.empty_strided(call.shape, call.stride, dtype=DTYPES[call.dtype])
    static = from_dlpack(tensor, assumed_align=call.align)
    if call.marked == "static":
        return static
    if call.marked == "layout":
        return static.mark_layout_dynamic()
    return static.mark_compact_shape_dynamic(mode=call.marked, stride_order=tensor.dim_order())


@pytest.mark.parametrize("name", LISTS)
def test_cute_compiles_as_often(name):
    function, compiler = FUNCTIONS[name], CuTeDSL._get_dsl().compiler_provider
    # `compilations()` falls as well: CuTe forgets functions that are gone
    with mock.patch.object(compiler, "compile", wraps=compiler.compile) as compile:
        for call in LISTS[name]:
            function(view(call), call[-1])
    assert compile.call_count == compilations_of(LISTS[name])


def test_structs_are_laid_out_as_cute_does():
    numbers = {1: cutlass.Int8, 2: cutlass.BFloat16, 4: cutlass.Int32, 8: cutlass.Int64}
    for kinds in product((1, 2, 4, 8), (1, 3), (0, 128)):
        size, count, align = kinds
        array = cute.struct.MemRange[numbers[size], count]
        annotations = {
            "first": cutlass.Int8,
            "array": cute.struct.Align[array, align] if align else array,
            "last": cutlass.Int32,
        }
        struct = cute.struct(type("Struct", (), {"__annotations__": annotations}))
        offsets, whole = struct_layout([(1, 1), (size * count, max(align, size)), (4, 4)])
        assert (tuple(struct._offsets.values()), struct.__sizeof__()) == (offsets, whole)


def test_one_call_costs_the_same_however_it_is_kept():
    ways = ("nothing kept", "traced each time", "kept")
    assert {per_call(way, 1, 3.0, 20.0, 5.0, 1.0) for way in ways} == {29.0}
    assert per_call("loaded", 1, 3.0, 20.0, 5.0, 1.0) == 6.0
