"""Each name that the course takes of the DSLs, and that they do not document, exists in the installed versions."""

from importlib import import_module
from operator import attrgetter

import cuda.tile as ct
import cutlass
import pytest
import torch
from cutlass import cute
from cutlass._mlir.ir import InsertionPoint
from cutlass.cute.runtime import from_dlpack, make_fake_stream
from cutlass.cutlass_dsl import CuTeDSL
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tests.dsl.names import undocumented
from tests.dsl.private import MADE, PRIVATE
from tests.dsl.test_door import DOOR
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.doubling import double

FILES = [file for file in DOOR if file.stem != "triton"]  # which is not installed here


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in PRIVATE.items() for name in names])
def test_a_module_has_the_name(module, name):
    attrgetter(name)(import_module(module))


@pytest.mark.parametrize(("what", "name"), [(what, name) for what, names in MADE.items() for name in names])
def test_what_is_made_has_the_attribute(what, name):
    if what == "the place where a trace is":
        in_a_trace(lambda: attrgetter(name)(InsertionPoint.current))
    else:
        attrgetter(name)(made(what))


def made(what):
    match what:
        case "a jitted function":
            return touch
        case "a jitted function, compiled":
            cute.compile(touch, from_dlpack(torch.zeros(4)))
            return touch
        case "a compiled function":
            fake = TensorSpec((64,), dynamic=True).fake
            return cute.compile(double, fake(), fake(), make_fake_stream(), options="--gpu-arch sm_80")
        case "the DSL":
            return CuTeDSL._get_dsl()
        case "a pipeline's state":
            return in_a_trace(lambda: make_pipeline_state(PipelineUserType.Producer, 3))
        case "a tensor without data":
            return TensorSpec((64,)).fake()
        case "a tensor":
            return from_dlpack(torch.zeros(4))
        case "a stream":
            return make_fake_stream()
        case "a struct":
            return Shared
        case "a struct's member":
            return Shared._annotations["numbers"]
        case "a kernel of cuTile":
            return nothing


def in_a_trace(look):
    seen = []

    @cute.jit
    def host():
        seen.append(look())

    host()
    return seen[0]


@cute.jit
def touch(x: cute.Tensor):
    for i in range(cute.size(x)):
        x[i] = 1.0


@cute.struct
class Shared:
    numbers: cute.struct.MemRange[cutlass.Int32, 4]


@ct.kernel
def nothing(x):
    pass


def test_the_tables_are_whole():
    known = {part for names in (*PRIVATE.values(), *MADE.values()) for name in names for part in name.split(".")}
    said = set().union(*(undocumented(file.read_text(encoding="utf-8")) for file in FILES))
    modules = {module[:end] for module in PRIVATE for end, dot in enumerate(f"{module}.") if dot == "."}
    assert said - known - modules == set()
