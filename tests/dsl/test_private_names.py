"""What the DSLs do not document is named in tutorlib/dsl/ and a few modules of the course, and nowhere else; each name
exists in the installed versions.

PRIVATE: what these modules take of the DSLs besides what they document. By module; what is made is below.
MADE: the same for attributes of what the DSLs make, which has to be made first.
"""

import re
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

from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.doubling import double
from tutorlib.paths import ROOT

# The modules that NVIDIA documents; the names in them that have no underscore are public.
DOCUMENTED = {
    "cutlass",
    "cutlass.cute",
    *(f"cutlass.cute.{part}" for part in ("arch", "math", "nvgpu", "runtime", "testing")),
    *(f"cutlass.cute.nvgpu.{part}" for part in ("cpasync", "tcgen05", "warp", "warpgroup")),
    *(f"cutlass.{part}" for part in ("memory", "pipeline", "torch", "utils")),
    "cuda.tile",
    "cuda.tile.compilation",
    "cuda.tile.tune",
}

# Attributes without an underscore that NVIDIA does not document.
UNDOCUMENTED = {
    "artifacts",
    "compiler_provider",
    "function_name",
    "generate_execution_args",
    "ir_module",
    "jit_cache",
    "__cache_key__",
}

# Private names that are no DSL's, and whose they are.
OTHERS = {
    "_C": "torch",
    "_addmm_activation": "torch",
    "_base": "torch",
    "_broadcast_shapes": "torch",
    "_cdata": "torch",
    "_dispatch_has_computed_kernel_for_dispatch_key": "torch",
    "_dispatch_has_kernel_for_dispatch_key": "torch",
    "_current_level": "torch",
    "_dynamo": "torch",
    "_functorch": "torch",
    "_ops": "torch",
    "_scaled_mm": "torch",
    "_refs": "torch",
    "_schema": "torch",
    "_sleep": "torch",
    "_version": "torch",
    "_current_frames": "sys",
    "_exit": "os",
    "_fields": "NamedTuple",
    "_fields_": "ctypes",
    "_getframe": "sys",
    "_replace": "NamedTuple",
    "_repr_mimebundle_": "IPython",
    "_repr_png_": "IPython",
}


def undocumented(source: str) -> set[str]:
    """The modules and private names of the DSLs in a file's code: imports, attributes, and whole strings."""
    dsl = r"((?:cutlass|cuda\.tile)\b[\w.]*)"
    modules = set(re.findall(rf"(?m)^\s*(?:from|import) {dsl}", source)) | set(
        re.findall(rf"[\"']{dsl}(?<!\.)[\"']", source)
    )
    imported = re.findall(rf"(?m)^\s*from {dsl} import (.*)", source)
    names = {name for _, line in imported for name in re.findall(r"\b_\w+", line)}
    code = re.sub(rf"(?m)^\s*(?:from|import) .*|{dsl}", "", source)
    names |= set(re.findall(r"(?<!self)(?<!cls)\.(_[a-z]\w*[a-z])\b", code))
    names |= {name for name in UNDOCUMENTED if re.search(rf"\.{name}\b", code)}
    return (modules - DOCUMENTED) | (names - OTHERS.keys())


PRIVATE = {
    "cutlass._mlir.dialects.nvvm": (
        "tcgen05_fence",
        "Tcgen05FenceKind.AFTER_THREAD_SYNC",
        "Tcgen05FenceKind.BEFORE_THREAD_SYNC",
    ),
    "cutlass._mlir.execution_engine": (
        "ExecutionEngine.__init__",
        "ExecutionEngine.raw_lookup",
        "ExecutionEngine.raw_register_runtime",
    ),
    "cutlass._mlir.ir": (
        "InsertionPoint",
        "Location.file",
        "Module.parse",
        "SymbolTable",
        "WalkResult.ADVANCE",
        "WalkResult.INTERRUPT",
    ),
    "cutlass._mlir_helpers.op": ("_get_caller_frame_info", "loc_transform"),
    "cutlass.base_dsl.common": ("DSLBaseError",),
    "cutlass.base_dsl.compiler": ("CompileCallable._compile",),
    "cutlass.base_dsl.dsl": ("BaseDSL._func", "BaseDSL.mangle_name", "DSLSingletonMeta._instances"),
    "cutlass.base_dsl.jit_executor": ("JitCompiledFunction.run_compiled_program",),
    "cutlass.cute": ("struct._AlignMeta", "struct._MemRangeMeta"),
    "cutlass.cute.atom": ("ThrCopy.partition_D", "ThrCopy.partition_S", "ThrCopy.retile", "_make_tiled_copy"),
    "cutlass.cute.runtime": ("_FakeStream", "_FakeTensor", "_Tensor.__init__"),
    "cutlass.cute.tensor": ("TensorSSA", "_Tensor"),
    "cutlass.cutlass_dsl": ("CuTeDSL._get_dsl", "CuTeDSL._lookup_jit_entry"),
    "cutlass.cutlass_dsl.cuda_jit_executor": ("CudaDialectJitCompiledFunction.__call__",),
    "cutlass.cutlass_dsl.tvm_ffi_provider": (
        "TVMFFIJitCompiledFunction.__call__",
        "TVMFFIJitCompiledFunctionBase._create_tvm_ffi_function",
        "TVMFFIJitCompiledFunctionWithKwargs.__call__",
    ),
    "cutlass.memory": ("SmemAllocator._smem_alloca",),
    "cutlass.testing": ("_benchmark_for_autotune", "benchmark"),
}

MADE = {
    "a jitted function": ("__wrapped__", "_decorator_kind"),
    "a jitted function, compiled": ("__wrapped__._original_code",),
    "a compiled function": ("__cubin__", "__ptx__", "function_name", "generate_execution_args", "ir_module"),
    "the DSL": (
        "_lookup_jit_entry",
        "compiler_provider.compile",
        "compiler_provider.jit",
        "compiler_provider.passmanager.PassManager.parse",
        "jit_cache",
    ),
    "a pipeline's state": ("_count", "_index", "_phase", "_stages"),
    "a tensor without data": ("_assumed_align", "element_type", "memspace", "shape", "stride"),
    "a tensor": ("__cache_key__", "_assumed_align", "_c_pointers_cache", "_memref_desc", "element_type", "memspace"),
    "a stream": ("use_tvm_ffi_env_stream",),
    "a struct": ("__alignof__", "__sizeof__", "_annotations", "_offsets"),
    "a struct's member": ("_dtype", "size", "size_in_bytes"),
    "the place where a trace is": (
        "block.owner.operation.attributes",
        "block.owner.operation.name",
        "block.owner.operation.parent",
    ),
    "a kernel of cuTile": ("_compiler_options.opt_level_for_target", "_pyfunc.__code__"),
}


PACKAGE = ROOT / "tutorlib"
COURSE = (  # what the course alone takes of the DSLs
    "half_precision.py",
    "notebook/launches.py",
)
DOOR = [*sorted((PACKAGE / "dsl").rglob("*.py")), *(PACKAGE / name for name in COURSE)]


def test_nothing_outside_names_what_the_dsls_do_not_document():
    outside = (file for file in sorted(PACKAGE.rglob("*.py")) if file not in DOOR)
    said = {str(file.relative_to(ROOT)): undocumented(file.read_text(encoding="utf-8")) for file in outside}
    assert {file: names for file, names in said.items() if names} == {}


@pytest.mark.parametrize(
    "code",
    [
        "from cutlass._mlir import ir",
        "def f():\n    from cutlass.cutlass_dsl import CuTeDSL",
        "from cutlass.cute.runtime import _Tensor",
        "x = kernel._pyfunc",
        "x = compiled.ir_module",
        "module = sys.modules['cutlass._mlir.ir']",
    ],
)
def test_such_a_name_is_found(code):
    assert undocumented(code)


def test_what_is_documented_or_another_librarys_is_not():
    assert not undocumented("from cutlass import cute\ncute.compile(f)\nself._kept = os._exit")


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
