"""Compiling kernels for a target GPU, on any machine: does it compile, and what did the compiler make of it?

    >>> print(compile_cute(add, [TensorSpec((1024,)), TensorSpec((1024,)), TensorSpec((1024,))], "sm_80"))
    sm_80: 128 threads, 12 registers, no spills, 0 bytes of shared memory

No GPU is needed: CuTe kernels are compiled for tensors that exist only as shapes, cuTile kernels for a signature.
"""

import linecache
import re
import struct
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from tutorlib import ptxas

DType = Literal["fp32", "fp16", "bf16", "e4m3", "int32"]

CUTLASS_NAME = {"fp32": "Float32", "fp16": "Float16", "bf16": "BFloat16", "e4m3": "Float8E4M3FN", "int32": "Int32"}
CUTILE_NAME = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn", "int32": "int32"}
BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "e4m3": 1, "int32": 4}

# What the course asks for, by name: a pattern of PTX opcodes. Vectors of 128 bits: 4 × 32, 2 × 64 or 1 × 128.
WIDE = r"(v4\.[bfsu]32|v2\.[bfsu]64|b128)\b"
INSTRUCTIONS = {
    "ld.global": r"ld\.global\b",
    "ld.global.v4": rf"ld\.global\b\S*\.{WIDE}",
    "st.global": r"st\.global\b",
    "st.global.v4": rf"st\.global\b\S*\.{WIDE}",
    "ld.shared": r"ld\.shared\b",
    "ld.shared.v4": rf"ld\.shared\b\S*\.{WIDE}",
    "st.shared": r"st\.shared\b",
    "st.shared.v4": rf"st\.shared\b\S*\.{WIDE}",
    "bar.sync": r"(bar|barrier)(\.cta)?\.sync\b",
    "shfl.sync": r"shfl\.sync\b",
    "cp.async": r"cp\.async\.c[ag]\b",
    "cp.async.bulk": r"cp\.async\.bulk\.(shared|global)\b",
    "cp.async.bulk.tensor": r"cp\.async\.bulk\.tensor\b",
    "mbarrier": r"mbarrier\.",
    "ldmatrix": r"ldmatrix\b",
    "stmatrix": r"stmatrix\b",
    "mma.sync": r"mma\.sync\b",
    "wgmma": r"wgmma\.mma_async\b",
    "tcgen05": r"tcgen05\.mma\b",
}


class CompileFailed(Exception):
    """The kernel does not compile. The message is one line and quotes the reader's line where it is known.

    line: its number, or 0.
    detail: all that the compiler said, several lines, or "".
    """

    def __init__(self, message: str, line: int = 0, detail: str = "") -> None:
        super().__init__(message)
        self.line, self.detail = line, detail


@dataclass(frozen=True)
class TensorSpec:
    """A tensor in global memory that a kernel is compiled for: all of it but the data.

    order: for each mode its place from the fastest-running on, as CuTe's `stride_order`: (1, 0) is row-major, which
        is the default for every rank: the last mode is contiguous.
    dynamic: the sizes and strides are left to the call, as `mark_layout_dynamic` does; the contiguous stride stays 1.
    divisibility: in a dynamic layout, a number that the contiguous size is known to be a multiple of.
    align: bytes that the address is known to be a multiple of.
    """

    shape: tuple[int, ...]
    dtype: DType = "fp32"
    order: tuple[int, ...] | None = None
    dynamic: bool = False
    divisibility: int = 1
    align: int = 16

    @classmethod
    def like(cls, tensor: Any, dynamic: bool = False) -> "TensorSpec":
        """The type of a contiguous torch tensor."""
        names = {torch_name: name for name, torch_name in CUTILE_NAME.items()}  # cuTile's names are torch's
        return cls(tuple(tensor.shape), names[str(tensor.dtype).removeprefix("torch.")], dynamic=dynamic)

    @property
    def stride_order(self) -> tuple[int, ...]:
        return self.order or tuple(reversed(range(len(self.shape))))

    def fake(self) -> Any:
        """The stand-in for a cute.Tensor that `cute.compile` takes."""
        import cutlass
        from cutlass import cute
        from cutlass.cute.runtime import make_fake_compact_tensor

        shape = self.shape
        if self.dynamic:
            shape = tuple(
                cute.sym_int(divisibility=self.divisibility if place == 0 else 1) for place in self.stride_order
            )
        return make_fake_compact_tensor(
            getattr(cutlass, CUTLASS_NAME[self.dtype]),
            shape,
            stride_order=self.stride_order,
            memspace=cute.AddressSpace.gmem,
            assumed_align=self.align,
        )

    def constraint(self) -> Any:
        """What cuTile assumes of a contiguous torch tensor of this shape: int32 indices, multiples of 16 bytes.

        Sizes are never constants in cuTile's own launch, so `dynamic` makes no difference here.
        """
        import cuda.tile as ct
        from cuda.tile.compilation import ArrayConstraint

        fastest = self.stride_order.index(0)
        vector = 16 // BYTES[self.dtype]
        return ArrayConstraint(
            getattr(ct, CUTILE_NAME[self.dtype]),
            len(self.shape),
            index_dtype=ct.int32,
            stride_lower_bound_incl=0,
            alias_groups=(),
            may_alias_internally=False,
            stride_constant=tuple(1 if mode == fastest else None for mode in range(len(self.shape))),
            stride_divisible_by=tuple(
                vector if mode != fastest and self.shape[fastest] % vector == 0 else 1
                for mode in range(len(self.shape))
            ),
            shape_divisible_by=tuple(vector if size % vector == 0 else 1 for size in self.shape),
            base_addr_divisible_by=self.align,
        )


@dataclass(frozen=True)
class Compiled:
    """What the compiler made of a host function's kernels; where there are several, the largest of each number.

    registers: for each thread.
    stack_bytes: local memory for each thread: arrays that cannot live in registers, and spilled registers.
    spill_bytes: what each thread stores there for want of registers; None where the compiler does not say (cuTile).
    smem_bytes: shared memory for each block, static and dynamic.
    threads: of a block.
    instructions: names from INSTRUCTIONS that occur in the PTX.
    function: for CuTe, the host function to call on such a GPU, with cute.Tensors of the same types; else None.
    """

    arch: str
    ptx: str = field(repr=False)
    cubin: bytes = field(repr=False)
    registers: int
    stack_bytes: int
    spill_bytes: int | None
    smem_bytes: int
    threads: int
    instructions: frozenset[str]
    function: Callable[..., None] | None = field(default=None, repr=False, compare=False)

    @property
    def body(self) -> str:
        """What the first kernel's threads do, in PTX: without its parameters, declarations and blank lines."""
        name, text = re.search(r"\.entry (\w+)\(.*?\n\{\n(.*?)\n\}", self.ptx, re.DOTALL).groups()
        lines = (" ".join(line.split()) for line in text.replace(f"{name}_", "").split("\n"))
        told = (line for line in lines if line and not line.startswith((".reg", ".loc", "//")))
        columns = (re.fullmatch(r"((?:@\S+ )?\S+) ?(.*)", line).groups() for line in told)  # opcode, with its predicate
        return "\n".join(
            opcode if opcode.endswith(":") else f"  {opcode:15} {operands}".rstrip() for opcode, operands in columns
        )

    def __str__(self) -> str:
        if self.spill_bytes is None:
            local = f"{self.stack_bytes:,} bytes of stack"
        else:
            local = f"{self.spill_bytes:,} bytes spilled" if self.spill_bytes else "no spills"
        return (
            f"{self.arch}: {self.threads} threads, {self.registers} registers, {local}, "
            f"{self.smem_bytes:,} bytes of shared memory"
        )


def compile_cute(answer: Callable[..., None], specs: Sequence[TensorSpec], arch: str = "sm_80") -> Compiled:
    """Compile a @cute.jit host function and the kernels that it launches, for tensors of these specs.

    arch: "sm_80", "sm_90a", "sm_100a", …; wgmma, TMA multicast and tcgen05 need the "a".
    Raises CompileFailed; an unwritten answer's NotImplementedError("Exercise …") passes through.
    """
    import cutlass.memory
    from cutlass import cute

    fakes = [spec.fake() for spec in specs]
    with tempfile.TemporaryDirectory() as folder:
        options = f"--gpu-arch {arch} --keep-ptx --keep-cubin --dump-dir {folder}"
        built = explained(lambda more: cute.compile(answer, *fakes, options=f"{options} {more}"))
    ptx, cubin = built.artifacts.PTX, built.artifacts.CUBIN
    if not isinstance(cubin, bytes):
        raise CompileFailed(f"{name_of(answer)} launches no kernel")
    compiled = inspect(arch, ptx, cubin, dynamic_smem(str(built.ir_module)), ptxas.spilled(ptx))
    limit = cutlass.memory.get_smem_capacity_in_bytes(arch.rstrip("af"))
    if compiled.smem_bytes > limit:
        raise CompileFailed(
            f"{name_of(answer)} asks for {compiled.smem_bytes:,} bytes of shared memory; "
            f"a block on {arch} can have {limit:,}"
        )
    return replace(compiled, function=built)


def call_host(answer: Callable[..., None], *args: Any) -> None:
    """Call a @cute.jit function that launches nothing: it is compiled for the CPU, where that is new, and runs there.

    Raises as compile_cute does.
    """
    from cutlass import cute

    explained(lambda more: cute.compile(answer, *args, options=more) if more else answer(*args))


def compilations() -> int:
    """How many functions CuTe has compiled in this process for direct calls; each is kept for the next call like it."""
    from cutlass.cutlass_dsl import CuTeDSL

    return len(CuTeDSL._get_dsl().jit_cache)


def explained(build: Callable[[str], Any]) -> Any:
    """build(more options), whose failures become CompileFailed.

    One that does not say where it is happens a second time with line numbers kept, which makes longer PTX.
    """

    def attempt(more: str) -> Any:
        try:
            return build(more)
        except NotImplementedError:
            raise
        except Exception as error:  # DSLBaseError, MLIRError and whatever the reader's own lines raise
            raise explain(error, cute_message(error)) from error

    try:
        return attempt("")
    except CompileFailed as failed:
        if failed.line:
            raise
    return attempt("--generate-line-info")


def compile_cutile(kernel: Any, args: Sequence[Any], arch: str = "sm_90") -> Compiled:
    """Compile a @ct.kernel for these arguments: a TensorSpec for each array, plain values for constants.

    arch: "sm_80", "sm_90", "sm_100", …
    Raises CompileFailed; an unwritten answer's NotImplementedError("Exercise …") passes through.
    """
    from cuda.tile import TileError
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    parameters = [arg.constraint() if isinstance(arg, TensorSpec) else arg for arg in args]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v2())
    file = BytesIO()
    try:
        export_kernel(kernel, [signature], file, gpu_code=arch, output_format="cubin")
    except TileError as error:
        raise explain(error, error.message.strip()) from error
    cubin = file.getvalue()
    ptx = next(data for name, _, _, data in sections(cubin) if name == ".nv_debug_ptx_txt")
    return inspect(arch, ptx.replace(b"\0", b"\n").decode(), cubin, dynamic_smem=0, spilled=None)


def inspect(arch: str, ptx: str, cubin: bytes, dynamic_smem: int, spilled: int | None) -> Compiled:
    """Read what else there is to know from the PTX and the cubin."""
    registers, stack, static_smem = resources(cubin)
    blocks = re.findall(r"\.(?:req|max)ntid (\d+)(?:, (\d+))?(?:, (\d+))?", ptx)
    return Compiled(
        arch=arch,
        ptx=ptx,
        cubin=cubin,
        registers=registers,
        stack_bytes=stack,
        spill_bytes=spilled,
        smem_bytes=static_smem + dynamic_smem,
        threads=max((int(x) * int(y or 1) * int(z or 1) for x, y, z in blocks), default=0),
        instructions=frozenset(name for name, opcode in INSTRUCTIONS.items() if re.search(rf"(?m)\s{opcode}", ptx)),
    )


def dynamic_smem(host_ir: str) -> int:
    """Bytes of dynamic shared memory in a host function's lowered IR: the third field of each cudaLaunchConfig_t."""
    config = r"llvm\.getelementptr %\d+\[0, 2\] : .*struct<\(array<3 x i32>, array<3 x i32>, i64,"
    sizes = []
    for place in re.findall(rf"(%\d+) = {config}", host_ir):
        for value in re.findall(rf"llvm\.store (%\d+), {place} : i64", host_ir):
            sizes += re.findall(rf"{value} = llvm\.mlir\.constant\((\d+) : i64\)", host_ir)
    return max(map(int, sizes), default=0)


EIATTR_FRAME_SIZE, EIATTR_REGCOUNT = 0x11, 0x2F


def resources(cubin: bytes) -> tuple[int, int, int]:
    """Registers and stack bytes of each thread, static shared bytes of each block: what `cuobjdump -res-usage` shows.

    The section .nv.info is a list of attributes: a format byte, an attribute byte and a 16-bit value; format 4 says
    that the value counts the bytes that follow, here a symbol and a number (names as `cuobjdump -elf` prints them).
    """
    registers = stack = smem = 0
    for name, kind, size, data in sections(cubin):
        if name.startswith(".nv.shared.") and kind == SHT_NOBITS:
            smem = max(smem, size)
        if name != ".nv.info":
            continue
        at = 0
        while at < len(data):
            form, attribute, length = struct.unpack_from("<BBH", data, at)
            at += 4
            if form != 4:
                continue
            if attribute == EIATTR_REGCOUNT:
                registers = max(registers, struct.unpack_from("<II", data, at)[1])
            if attribute == EIATTR_FRAME_SIZE:
                stack = max(stack, struct.unpack_from("<II", data, at)[1])
            at += length
    return registers, stack, smem


SHT_NOBITS = 8  # a section that takes memory and no bytes of the file


def sections(elf: bytes) -> Iterator[tuple[str, int, int, bytes]]:
    """Name, type, size and bytes of each section of a little-endian ELF64 file."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    count, names = struct.unpack_from("<HH", elf, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + 64 * n) for n in range(count)]
    for name, kind, _, _, offset, size, *_ in headers:
        start = headers[names][4] + name
        data = b"" if kind == SHT_NOBITS else elf[offset : offset + size]
        yield elf[start : elf.index(b"\0", start)].decode(), kind, size, data


def cute_message(error: Exception) -> str:
    """What is wrong, in one line, without the DSL's colours and boxes."""
    from cutlass.base_dsl.common import DSLBaseError

    if not isinstance(error, DSLBaseError):
        return f"{type(error).__name__}: {error}"
    cause = str(error.cause or "")
    if "Verification failed" in cause:  # "… error: "source"("file":line:col): 'cute.memref.store' op expects …"
        return re.sub(r".*?error: (unknown|\".*?\"\(.*?\)): ", "", cause.split("\n note:")[0], flags=re.DOTALL)
    return error.message


def explain(error: Exception, message: str) -> CompileFailed:
    """The failure in one line, with the reader's line. Raises NotImplementedError where that is a placeholder."""
    line, text = reader_line(error)
    if placeholder := re.search(r"NotImplementedError\(\"(Exercise [\d.]+)\"\)", text):
        raise NotImplementedError(placeholder[1]) from None
    at = f"line {line}, `{text}`: " if line else ""
    return CompileFailed(at + " ".join(message.split()), line, re.sub(r"\x1b\[\d+m", "", str(error)).strip())


def reader_line(error: BaseException) -> tuple[int, str]:
    """Number and text of the line that the error is about; (0, "") where that is unknown.

    The DSLs name it where they know it; an exception that the reader's code raised has it in its traceback.
    """
    places = [(getattr(error, "filename", None), getattr(error, "line", None))]
    if (loc := getattr(error, "loc", None)) is not None:  # cuTile
        places.append((loc.filename, loc.line))
    places += reversed(re.findall(r'"([^"]+\.py)":(\d+):\d+', str(getattr(error, "cause", ""))))
    places += reversed(list(frames(error)))
    for file, line in places:
        if file and line and is_readers(file):
            return int(line), linecache.getline(file, int(line)).strip()
    return 0, ""


def frames(error: BaseException) -> Iterable[tuple[str, int]]:
    """File and line of each step of the traceback, outermost first."""
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next


def is_readers(file: str) -> bool:
    """Whether a file is neither this one, nor Python's or an installed package's."""
    libraries = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return file != __file__ and not file.startswith(("<", *libraries)) and Path(file).suffix == ".py"


def name_of(answer: Callable[..., None]) -> str:
    return getattr(answer, "__name__", "your answer")
