"""CuTe host functions, compiled with the reader's lines kept, and run without a driver: their launches are recorded.

CuTe's own line information names the line that called the DSL, which for a helper lies in the helper. While a host
function is traced each operation's place is replaced by a number: that of the Python call stack at that moment.

The compiled host function calls CUDA's runtime through functions that begin with _cuda. Here they are this module's
own: kernels get numbers for handles, attributes are an H100's but for its SMs, and a launch is recorded
with its grid, its block, its shared memory and its parameters. That is all of the host side: descriptors for TMA the
host function computes itself. Tensors in ordinary memory are in global memory to CuTe, so that code which was written
for a GPU takes them.
"""

import ctypes
import linecache
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.dsls import compile_cute, cute_arguments
from tutorlib.compiling.errors import is_readers
from tutorlib.compiling.spec import fakes
from tutorlib.dsl.functions import is_of_the_dsl
from tutorlib.dsl.launching import INT, POINTER, SUCCESS, call_engine, engine_without_driver
from tutorlib.dsl.tracing import locations, no_abort
from tutorlib.simulate.ptx.descriptors import BYTES, write_tensor_map
from tutorlib.simulate.ptx.findings import Find, NamedMemory, NotSimulated, SourceLine, name_made_at, quoted
from tutorlib.simulate.ptx.geometry import ALONE
from tutorlib.simulate.ptx.ir import Instruction, Module
from tutorlib.simulate.ptx.launch import LaunchBefore, distinct, pack_parameters, piece_of, simulate_pieces, three
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch

if TYPE_CHECKING:
    from torch import Tensor


STACKS = "the Python call stacks"  # stands for a file in the line information

Frame = tuple[str, int]  # file, line


@dataclass
class Stacks:
    """stacks: each once, the innermost frame first; in the line information stack n has the line n + 1.

    shared: the pieces of each kernel's shared memory.
    """

    stacks: dict[tuple[Frame, ...], int] = field(default_factory=dict)
    shared: dict[str, list[NamedMemory]] = field(default_factory=dict)

    def number(self) -> int:
        """The lines of the current stack, without the DSL's frames and those below the compilation."""
        stack = tuple(frames_of_the_kernel(sys._getframe(2)))
        return self.stacks.setdefault(stack, len(self.stacks) + 1)

    def note_shared(self, kernel: str, start: int, size: int, fields: Sequence[tuple[str, int, int]]) -> None:
        """A kernel allocates shared memory on the current lines: its name is that which the source gives it there."""
        stack = frames_of_the_kernel(sys._getframe(2))
        name = next(filter(None, (name_made_at(file, line) for file, line in stack)), "shared memory")
        made = [NamedMemory(f"{name}.{field}", start + at, bytes) for field, bytes, at in fields]
        self.shared.setdefault(kernel, []).extend(made or [NamedMemory(name, start, size)])

    def finder(self, module: Module) -> Find:
        by_number = {number: stack for stack, number in self.stacks.items()}
        return finder_of(module, lambda number: place_of(by_number.get(number, ())))


def finder_of(module: Module, place: Callable[[int], SourceLine | None]) -> Find:
    """Where an instruction stands in the source. place: takes the number of a call stack."""

    def find(instruction: Instruction) -> SourceLine | None:
        at = instruction.location
        return place(at.line) if at is not None and module.files.get(at.file) == STACKS else None

    return find


@cache
def origin_of(file: str) -> str:
    """Whose a file of code is: "kernel", "dsl" or neither; "here" for this module, where compilations begin."""
    own = "" if file.startswith("<") else "kernel"
    return "here" if file == __file__ else "dsl" if is_of_the_dsl(file) else own


# The functions that the DSL makes of the bodies of a kernel's loops and branches
CONTROL_FLOW = re.compile(
    r"(?:loop_body|(?:el)?if_region|while_region|(?:ifexp_)?(?:then|else)_block)_\d+|while_\w+_block"
)


def frames_of_the_kernel(frame: FrameType | None) -> list[Frame]:
    """Its frames in this one and those that called it, up to what began the compilation.

    Of a body of a loop or a branch, which is a function to the DSL, the call is none.
    """
    frames, of_the_kernel, in_body = list[Frame](), 0, False
    while frame is not None and (origin := origin_of(frame.f_code.co_filename)) != "here":
        if origin == "dsl":
            of_the_kernel = len(frames)
        elif origin == "kernel":
            if not in_body:
                frames.append((frame.f_code.co_filename, frame.f_lineno))
            in_body = bool(CONTROL_FLOW.fullmatch(frame.f_code.co_name))
        frame = frame.f_back
    return frames[:of_the_kernel]


FUNCTION = re.compile(r"\s*def (\w+)")


def place_of(stack: Sequence[Frame]) -> SourceLine | None:
    """The innermost of the reader's lines, or where there is none, the function of the library; and what called it."""
    if not stack:
        return None
    at = next((n for n, (file, _) in enumerate(stack) if is_readers(file)), 0)
    (file, line), rest = stack[at], stack[at + 1 :]
    above = (FUNCTION.match(text) for text in linecache.getlines(file)[:line][::-1])
    function = f"{Path(file).stem}.{next((found[1] for found in above if found), '')}"
    return SourceLine(file, line, quoted(file, line) if is_readers(file) else function, tuple(rest))


@dataclass(frozen=True)
class Traced:
    """A compiled host function. ptx: of its kernels. stacks: what the lines in it mean."""

    function: Any
    ptx: str = field(repr=False)
    stacks: Stacks = field(repr=False)


def compile_with_lines(host: Callable[..., None], specs: Sequence[Any], arch: str = "sm_80") -> Traced:
    """Compile a @cute.jit host function, or an object that can be called as one, as compile_cute does.

    Its machine code is not for use: ptxas does not optimize it.
    """
    from cutlass import cute

    stacks = Stacks()
    try:
        with tempfile.TemporaryDirectory() as folder, locations(STACKS, stacks.number), no_abort():
            options = f"--gpu-arch {arch} --keep-ptx --dump-dir {folder} --generate-line-info --ptxas-options=-O1"
            built = cute.compile(host, *fakes(specs), options=options)
    except Exception:
        compile_cute(host, specs, arch)  # raises it again, as a sentence
        raise
    return Traced(built, built.__ptx__, stacks)


DEVICE = 8  # where a DLTensor has its device's type (dlpack.h)
CUDA = 2  # kDLCUDA

get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)

VECTOR = 16  # bytes of the widest access
FP8 = {"float8_e4m3fn": "Float8E4M3FN", "float8_e5m2": "Float8E5M2"}  # torch's names, which DLPack lacks, and CuTe's


@dataclass(frozen=True)
class OnDevice:
    """A torch tensor that tells from_dlpack that it lies on a GPU."""

    tensor: "Tensor"

    def __dlpack__(self, stream: int | None = None) -> Any:
        capsule = self.tensor.__dlpack__()
        ctypes.c_int32.from_address(get_pointer(capsule, b"dltensor") + DEVICE).value = CUDA
        return capsule


def cute_tensor(tensor: "Tensor") -> Any:
    """A torch tensor in ordinary memory as a cute.Tensor in global memory."""
    import cutlass
    import torch
    from cutlass.cute.runtime import from_dlpack

    fp8 = FP8.get(str(tensor.dtype).removeprefix("torch."))
    align = VECTOR if tensor.data_ptr() % VECTOR == 0 else tensor.element_size()
    made = from_dlpack(OnDevice(tensor.view(torch.uint8) if fp8 else tensor), assumed_align=align)
    if fp8:
        made.element_type = getattr(cutlass, fp8)
    return made


SMS = 132
MULTIPROCESSORS, SHARED_MEMORY = 16, 97  # cudaDeviceAttr; shared memory is what a block may ask for, in bytes
COOPERATIVE, CLUSTER_DIMENSION, OVERLAPPING = 2, 4, 6  # cudaLaunchAttribute…, the last ProgrammaticStreamSerialization
WIDEST_SWIZZLE = 3  # CU_TENSOR_MAP_SWIZZLE_128B
DIMENSIONS = ctypes.c_uint32 * 3


class Configuration(ctypes.Structure):
    """cudaLaunchConfig_t"""

    _fields_ = (
        ("grid", DIMENSIONS),
        ("block", DIMENSIONS),
        ("dynamic_smem", ctypes.c_uint64),
        ("stream", POINTER),
        ("attributes", POINTER),
        ("attribute_count", ctypes.c_uint32),
    )


class Attribute(ctypes.Structure):
    """cudaLaunchAttribute"""

    _fields_ = (("id", ctypes.c_uint64), ("value", ctypes.c_uint32 * 16))


class Host:
    """A compiled host function (`cute.compile`'s result) with a CUDA runtime of our own, which records its launches.

    module: its PTX, parsed. sms: SMs of the GPU that it is told of. kernels: names; a kernel's handle is its place
    here, from 1. libraries: files of shared libraries that it calls, too.
    """

    def __init__(self, built: Any, module: Module, sms: int = SMS, libraries: Sequence[str] = ()) -> None:
        self.built, self.module, self.sms = built, module, sms
        self.kernels: list[str] = []
        self.launches: list[Launch] = []
        self.error: Exception | None = None
        functions: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
            "_cudaLibraryGetKernel": (self.get_kernel, (POINTER, POINTER, POINTER)),
            "_cudaLaunchKernelEx": (self.launch, (POINTER, POINTER, POINTER)),
            "_cudaDeviceGetAttribute": (self.device_attribute, (POINTER, INT, INT)),
            "_cudaGetDevice": (self.zero, (POINTER,)),
            "_cuKernelGetAttribute": (self.zero, (POINTER, INT, POINTER, INT)),
            "_cuTensorMapEncodeTiled": (self.encode_tensor_map, (POINTER, INT, INT, *(POINTER,) * 5, *(INT,) * 4)),
        }
        calls = {name: (partial(self.guarded, does), types) for name, (does, types) in functions.items()}
        self.engine = engine_without_driver(built, calls, lambda *arguments: SUCCESS, libraries)

    def guarded(self, function: Callable[..., None], *arguments: int) -> int:
        """An exception cannot pass through compiled code: `take` raises the last."""
        try:
            function(*(argument or 0 for argument in arguments))
        except Exception as error:
            self.error = error
        return SUCCESS

    def take(self) -> list[Launch]:
        """The launches since the last time. Raises what went wrong meanwhile."""
        (launches, error), self.launches, self.error = (self.launches, self.error), [], None
        if error:
            raise error
        return launches

    def get_kernel(self, to: int, library: int, name: int) -> None:
        self.kernels.append(ctypes.string_at(name).decode())
        POINTER.from_address(to).value = len(self.kernels)

    def launch(self, configuration: int, kernel: int, parameters: int) -> None:
        """_cudaLaunchKernelEx"""
        config = Configuration.from_address(configuration)
        listed = (Attribute * config.attribute_count).from_address(config.attributes) if config.attributes else ()
        told = {int(each.id & 0xFFFFFFFF): [int(n) for n in each.value[:3]] for each in listed}
        cooperative, overlapping = (told.get(id, [0])[0] > 0 for id in (COOPERATIVE, OVERLAPPING))
        entry = self.module.kernels[self.kernels[kernel - 1]]
        places = (POINTER * len(entry.parameters)).from_address(parameters)
        each = zip(places, entry.parameters, strict=True)
        raw = pack_parameters(entry, (ctypes.string_at(place, parameter.size) for place, parameter in each))
        sizes = three(config.grid), three(config.block), int(config.dynamic_smem)
        launch = Launch(self.module, entry, *sizes, raw, cooperative=cooperative, overlapping=overlapping)
        cluster = three([max(n, 1) for n in told.get(CLUSTER_DIMENSION, ALONE)])
        self.launches.append(replace(launch, cluster=cluster))

    def device_attribute(self, to: int, attribute: int, device: int) -> None:
        INT.from_address(to).value = {MULTIPROCESSORS: self.sms, SHARED_MEMORY: 227 * 1024}.get(attribute, 0)

    def encode_tensor_map(
        self, to: int, kind: int, rank: int, address: int, shape: int, strides: int, box: int, steps: int, *modes: int
    ) -> None:
        """_cuTensorMapEncodeTiled. modes: interleave, swizzle, promotion to L2 and what lies outside of the tensor."""

        def numbers(kind: Any, count: int, place: int) -> list[int]:
            return list((kind * count).from_address(place)) if count else []

        sizes, distances = (numbers(ctypes.c_uint64, n, at) for n, at in ((rank, shape), (rank - 1, strides)))
        boxes, each = (numbers(ctypes.c_uint32, rank, at) for at in (box, steps))
        interleave, swizzle, _, outside = modes
        if interleave or outside or swizzle > WIDEST_SWIZZLE or any(n != 1 for n in each):
            raise NotSimulated("a descriptor for TMA with interleaving, steps, NaN outside or such a swizzle")
        ctypes.memmove(to, write_tensor_map(address, kind, sizes, distances, boxes, swizzle), BYTES)

    def zero(self, to: int, *others: int) -> None:
        """The result of functions that return a number, such as the device's or a kernel's shared memory."""
        INT.from_address(to).value = 0


def record_launches(function: Any, module: Module, arguments: Sequence[Any], sms: int = SMS) -> list[Launch]:
    """Call a compiled host function (`cute.compile`'s result) on cute.Tensors and give what it launched.

    module: its PTX, parsed. sms: SMs of the GPU that it is told of.
    """
    host = Host(function, module, sms)
    call_engine(host.engine, function, arguments)
    return host.take()


def simulate_host(
    compiled: Traced, tensors: "dict[str, Tensor]", arguments: Sequence[Any] | None = None, *, dynamic: bool = False
) -> list[Report]:
    """Call a host function on tensors in ordinary memory, by name, and simulate what it launches, in order.

    arguments: None for these tensors, row-major, their layouts dynamic or not.
    """
    given = cute_arguments([*tensors.values()], dynamic) if arguments is None else arguments
    module = parse_ptx(compiled.ptx)
    launches, find = record_launches(compiled.function, module, given), compiled.stacks.finder(module)
    return simulate_launches(tensors, [replace(each, find=find) for each in launches])


def simulate_launches(tensors: "dict[str, Tensor]", launches: Sequence[Launch], **options: Any) -> list[Report]:
    """Simulate what a host function launches, in order. options: as `simulate`."""
    pieces, before = distinct(piece_of(name, tensor) for name, tensor in tensors.items()), LaunchBefore()
    return [simulate_pieces(each, pieces, before, **options) for each in launches]
