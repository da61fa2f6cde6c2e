"""Host functions in bf16 and fp16, compiled for the oldest CPU of this architecture, which has no instruction for them.

LLVM compiles a function for the CPU and the features that its attributes `target_cpu` and `target_features` name,
whatever the CPU at hand has. The fixture `oldest_cpu` sets both on every host function before it becomes machine code,
and `no_inline`: MLIR's wrapper of the function, which has no such attributes, must call it.
"""

import ctypes
import platform
import subprocess
import sys

import cutlass
import numpy as np
import pytest
import torch
from cutlass import cute
from cutlass._mlir import ir
from cutlass._mlir.execution_engine import ExecutionEngine
from cutlass.base_dsl.common import DSLUserCodeError
from cutlass.cute.runtime import from_dlpack

from tutorlib import half_precision

OLDEST = {"x86_64": ("x86-64", "+sse2"), "aarch64": ("generic", "+neon")}[platform.machine()]
HALVES = (torch.bfloat16, torch.float16)


@pytest.fixture
def oldest_cpu(monkeypatch):
    make = ExecutionEngine.__init__.__wrapped__

    def restricted(self, module, *args, **options):
        cpu, feature = OLDEST
        with module.context:
            for function in module.body.operations:
                if function.operation.name == "llvm.func":
                    function.attributes["target_cpu"] = ir.StringAttr.get(cpu)
                    function.attributes["no_inline"] = ir.UnitAttr.get()
                    features = f'#llvm.target_features<["{feature}"]>'
                    function.attributes["target_features"] = ir.Attribute.parse(features)
        make(self, module, *args, **options)

    monkeypatch.setattr(ExecutionEngine, "__init__", half_precision.with_conversions(restricted))


@cute.jit
def convert(x: cute.Tensor, y: cute.Tensor):
    for i in range(cute.size(x)):
        y[i] = x[i].to(y.element_type)


@cute.jit
def scale(x: cute.Tensor, factor: cutlass.Constexpr):
    for i in range(cute.size(x)):
        x[i] = (x[i] * factor).to(x.element_type)


@cute.jit
def scale_as_vector(x: cute.Tensor):
    x.store((x.load().to(cutlass.Float32) * 3.0).to(x.element_type))


def converted(x, dtype):
    y = torch.zeros(len(x), dtype=dtype)
    views = [from_dlpack(tensor).mark_layout_dynamic() for tensor in (x, y)]
    cute.compile(convert, *views)(*views)
    return y


def every(dtype):
    """Every number of a 16-bit type, by its bits."""
    return torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)


def nearest(x, dtype):
    """The values of a 16-bit type that are nearest to doubles, ties to even: looked up among all that the type has."""
    values = every(dtype)[2**15 :].double()  # the negative patterns come first; here from 0 up
    finite = values[: int(values.isfinite().sum())].numpy()  # ascending, as their bits are
    ladder = np.append(finite, 2 * finite[-1] - finite[-2])  # where infinity's place would be
    above = np.searchsorted(ladder, np.abs(x)).clip(1, len(ladder) - 1)
    down, up = np.abs(x) - ladder[above - 1], ladder[above] - np.abs(x)
    bits = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, above - 1)
    return torch.from_numpy((bits | np.signbit(x) << 15).astype(np.uint16)).view(dtype)


def trials(wide, narrow):
    """Numbers of a wide type: each one of a narrow type, the middles between two, and the next ones up and down."""
    exact = every(narrow)
    exact = exact[exact.isfinite()].double()
    places = torch.cat([exact, (exact[:-1] + exact[1:]) / 2]).to(wide)
    infinity = torch.tensor(float("inf"), dtype=wide)
    return torch.cat([places, places.nextafter(infinity), places.nextafter(-infinity), infinity.view(1)])


@pytest.mark.usefixtures("oldest_cpu")
@pytest.mark.parametrize("narrow", HALVES)
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_rounding_is_to_the_nearest_and_to_even(wide, narrow):
    x = trials(wide, narrow)
    got = converted(x, narrow)
    assert got.view(torch.int16).equal(nearest(x.double().numpy(), narrow).view(torch.int16))
    assert converted(torch.tensor([float("nan"), -float("nan")], dtype=wide), narrow).isnan().all()


@pytest.mark.usefixtures("oldest_cpu")
@pytest.mark.parametrize("narrow", HALVES)
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_widening_is_exact(narrow, wide):
    x = every(narrow)
    assert converted(x, wide).allclose(x.to(wide), rtol=0, atol=0, equal_nan=True)


@pytest.mark.usefixtures("oldest_cpu")
@pytest.mark.parametrize("dtype", HALVES)
def test_a_host_function_computes_in_halves(dtype):
    x = torch.arange(24, dtype=dtype)
    cute.compile(scale, from_dlpack(x), 0.1)(from_dlpack(x))
    assert x.allclose((torch.arange(24) * 0.1).to(dtype), rtol=2**-7)
    x = torch.arange(8, dtype=dtype)
    cute.compile(scale_as_vector, from_dlpack(x))(from_dlpack(x))
    assert x.tolist() == [3.0 * i for i in range(8)]


@pytest.mark.usefixtures("oldest_cpu")
@pytest.mark.skipif(hasattr(ctypes.CDLL(None), "__truncsfbf2"), reason="needs a process without libgcc's __truncsfbf2")
def test_without_the_definitions_it_would_not_run(monkeypatch):
    monkeypatch.setattr(half_precision, "uses_halves", lambda module: False)
    x = from_dlpack(torch.ones(8, dtype=torch.bfloat16))
    with pytest.raises(DSLUserCodeError, match="runtime library could not be resolved"):
        cute.compile(scale, x, 2.0)


@pytest.mark.parametrize("first", ["cutlass", "tutorlib"])
def test_in_whichever_order_they_are_imported(first):
    second = {"cutlass": "tutorlib", "tutorlib": "cutlass"}[first]
    engine = "from cutlass._mlir.execution_engine import ExecutionEngine as engine"
    code = f"import {first}, {second}; {engine}; print(hasattr(engine.__init__, '__wrapped__'))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "True\n"
