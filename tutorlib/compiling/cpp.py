r"""CUDA Tile C++ from a notebook: a source string compiled by nvcc, looked at, and launched on torch tensors.

    >>> print(compile_cpp(r'''
    ... __tile_global__ void clear(float* x, int n) {
    ...     auto X = ct::partition_view{ct::tensor_span{x, ct::extents{n}}, ct::shape{256_ic}};
    ...     X.store_masked(ct::zeros<ct::tile<float, ct::shape<256>>>(), ct::bid().x);
    ... }'''))
    sm_90: 128 threads, 14 registers, 0 bytes of stack, 0 bytes of shared memory

nvcc needs a C++ compiler of the system for its preprocessor. Compiling needs no GPU. Launching goes through
cuda-bindings.
"""

import ctypes
import re
import tempfile
import textwrap
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tutorlib.compiling.compiled import Compiled, inspect_kernel
from tutorlib.compiling.dsls import entries_of, inspect_tile_kernel, ptx_of
from tutorlib.compiling.errors import CompileFailed, shortened
from tutorlib.compiling.programs import nvcc_command, run_compiler
from tutorlib.dsl.refusals import what_to_do

HEADER = """\
#include <cuda_bf16.h>
#include <cuda_tile.h>
namespace ct = cuda::tiles;
using namespace ct::literals;
using bf16 = __nv_bfloat16;
"""
FILE = "kernel.cu"  # the name of the reader's source in nvcc's messages


@dataclass(frozen=True)
class Remark:
    """A compiler's remark on a line of the source: the instruction it chose, or why it could not choose one."""

    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class CompiledCpp(Compiled):
    """A Tile C++ kernel for one architecture, with the compiler's remarks.

    name: of the kernel, as the driver knows it. source: the reader's, dedented.
    parameters: its PTX types in order, "ptr", "u64", "u32", "f32", …
    """

    name: str
    parameters: tuple[str, ...]
    source: str = field(repr=False)
    remarks: tuple[Remark, ...] = field(repr=False)

    @property
    def promises(self) -> tuple[tuple[int, int], ...]:
        """The number of each parameter that the source calls divisible, and by what; of a pointer's address in bytes.

        From the Tile IR that the PTX has as comments.
        """
        return tuple((number, divisor) for number, divisor in self.assumed.values() if divisor)

    @property
    def unmasked(self) -> tuple[int, ...]:
        """The numbers of the parameters whose tiles are never loaded or stored with a mask. From the Tile IR."""
        spans = dict(re.findall(r"%(\w+) = make_tensor_view %(\w+)", self.ptx))
        named, masked = self.assumed, dict[int, bool]()
        view = r"make_partition_view %(\w+) : partition_view<tile=\([^)]*\)(, padding_value)?"
        for span, mask in re.findall(view, self.ptx):
            if spans.get(span) in named:
                number, _ = named[spans[span]]
                masked[number] = masked.get(number, False) or bool(mask)
        return tuple(sorted(number for number, any_mask in masked.items() if not any_mask))

    @property
    def assumed(self) -> dict[str, tuple[int, int]]:
        """By each name that the Tile IR has for a parameter: its number, and the divisor that it is given, or 0."""
        named = {f"arg{n}": (n, 0) for n in range(len(self.parameters))}
        for name, divisor, of in re.findall(r"%(\w+) = assume div_by<(\d+)[^>]*>, %(\w+)", self.ptx):
            if of in named:
                named[name] = named[of][0], int(divisor)
        return named

    @property
    def remarked(self) -> str:
        """Each line that the compiler remarked on, and below it the remarks."""
        lines = self.source.split("\n")
        shown = []
        for number in sorted({remark.line for remark in self.remarks}):
            shown.append(f"{number:3}  {lines[number - 1].strip()}")
            shown += [f"       → {remark.text}" for remark in self.remarks if remark.line == number]
        return "\n".join(shown)


def compile_cpp(source: str, arch: str = "sm_90") -> CompiledCpp:
    """Compile the one __tile_global__ function of a source that begins after HEADER.

    arch: "sm_80", "sm_90", "sm_100", …, without the "a" of CuTe.
    Raises CompileFailed with the reader's line, and ToolMissing.
    """
    source = textwrap.dedent(source).strip("\n")
    cubin, output = nvcc(source, arch, "tilecubin", "--enable-tile", "-Xtileiras", "--remarks=all", header=HEADER)
    name, parameters = only_kernel(ptx_of(cubin) if cubin else "", "__tile_global__")
    kernel = inspect_tile_kernel(arch, cubin)
    return CompiledCpp(**vars(kernel), name=name, parameters=parameters, source=source, remarks=read_remarks(output))


def only_kernel(ptx: str, kind: str) -> tuple[str, tuple[str, ...]]:
    """Name and parameters of a source's one kernel. kind: "__global__". Raises CompileFailed for none or several."""
    if len(entries := entries_of(ptx)) == 1:
        return entries[0]
    how = "" if entries else f": `{kind} void name(…) {{ … }}`"
    raise CompileFailed(f"the source has {len(entries)} {kind} functions; one is launched{how}")


@cache
def nvcc(source: str, arch: str, kind: str, *options: str, header: str = "") -> tuple[bytes, str]:
    """The file that nvcc makes of a header and a source, and its output.

    kind: "ptx", "cubin" or "tilecubin"; no bytes if there is no such file. Raises as compile_cpp does.
    """
    options = f"-{kind}", "-std=c++20", "-lineinfo", "-arch", arch, *options
    with tempfile.TemporaryDirectory() as folder:
        file, made = Path(folder) / "source.cu", Path(folder) / "made"
        file.write_text(f'{header}#line 1 "{FILE}"\n{source}\n', encoding="utf-8")
        done = run_compiler([*nvcc_command(), *options, "-o", made, file], Path(folder))
        output = done.stdout + done.stderr
        if done.returncode:
            raise failure(output, source)
        return made.read_bytes() if made.exists() else b"", output


def failure(output: str, source: str, name: str = FILE) -> CompileFailed:
    """nvcc's first error with the reader's line. output: all that it printed. name: of the source's file."""
    first = r"(?m)^(?P<file>[^\s(:]+)(?:\((?P<line>\d+)\)|:(?P<row>\d+):\d+): (?:fatal )?error:? (?P<text>.*)"
    others = (line for line in output.splitlines() if "error" in line)
    message = found["text"] if (found := re.search(first, output)) else next(others, output.strip())
    line = int(found["line"] or found["row"]) if found and found["file"] == name else 0
    if not line and (caused := re.search(rf'at line (\d+) of "?{re.escape(name)}', output)):
        line = int(caused[1])  # the error is in a header, and this line made the compiler look there
    at = f"line {line}, `{source.splitlines()[line - 1].strip()}`: " if line else ""
    if types := re.match(r"\s+(?:argument|operand) types are: (.*)", output[found.end() :]) if found else None:
        message += f" ({types[1].strip('()')})"
    said = without_inner_names(message)
    advice = what_to_do(said, ["cpp"])
    message = advice or f"nvcc refuses {'this line' if at else 'the source'}: {shortened(said)}"
    return CompileFailed(at + message, line, shortened(said) if advice else "")


def without_inner_names(text: str) -> str:
    """nvcc's text without the inner names of the library: ct::tile, 128, and ? for a size known at run time only."""
    text = text.replace("cuda::tiles::__1::", "ct::").replace("__nv_bfloat16", "bf16")
    text = re.sub(r"ct::extents<(?:unsigned int|ct::uint32_t), ", "ct::extents<", text)
    return re.sub(r"\b(\d+)UL\b", lambda size: "?" if size[1] == str(2**64 - 1) else size[1], text)


def read_remarks(output: str) -> tuple[Remark, ...]:
    """The remarks in tileiras' output, each once, in the order of their lines; those about no line are left out.

    A remark is a line "remark[passed]: …" or "remark[failed]: …", then its place "--> file:line:column", then
    "= note: …" and "= reason: …".
    """
    found = set()
    for block in re.split(r"remark\[", output)[1:]:
        headline = block.partition(": ")[2].partition("\n")[0]
        place = re.search(r"--> .*?:(\d+):\d+", block)
        notes = dict(re.findall(r"= note: (\w+) = (.*)", block))
        reason = re.search(r"= reason: (?:loc\(.*?\): )?(.*)", block)
        if not place:
            continue
        text = notes.get("Instruction", headline)
        if "Tensor-core" in text:
            text += " " + "×".join(re.findall(r"\d+", notes.get("Shape", "")))
        found.add(Remark(int(place[1]), f"{headline}: {reason[1]}" if reason else text))
    return tuple(sorted(found, key=lambda remark: (remark.line, remark.text)))


ARCH = "sm_80"  # the simulator's target


def compile_cuda(source: str, arch: str = ARCH) -> str:
    """The PTX of plain CUDA C++, with line numbers.

    Raises CompileFailed with the reader's line, and ToolMissing.
    """
    return nvcc(textwrap.dedent(source).strip("\n"), arch, "ptx")[0].decode()


def compile_cuda_kernel(source: str, arch: str) -> CompiledCpp:
    """The one __global__ function of a source, with its machine code. Raises as `compile_cuda`."""
    source = textwrap.dedent(source).strip("\n")
    ptx, cubin = compile_cuda(source, arch), nvcc(source, arch, "cubin")[0]
    name, parameters = only_kernel(ptx, "__global__")
    compiled = inspect_kernel(arch, ptx, cubin, dynamic_smem=0, by_ptxas=True)
    return CompiledCpp(**vars(compiled), name=name, parameters=parameters, source=source, remarks=())


def cpp_name(mangled: str) -> str:
    """ "scale<float, 3>" of "_Z5scaleIfLi3EEvPKT_PS0_": without result and parameters. Other names stay as they are."""
    return re.sub(r"\((?!anonymous).*$", "", demangled(mangled).removeprefix("void ")) or mangled


def variable_name(mangled: str) -> str:
    """ "tile" of "_ZZ6kernelPfE4tile", a variable of a function. "" for a name that C++ has not mangled."""
    return demangled(mangled).rpartition("::")[2]


@cache
def demangled(mangled: str) -> str:
    """The whole declaration; "" where the name is not mangled."""
    demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    demangle.restype, demangle.argtypes = ctypes.c_void_p, [ctypes.c_char_p, *[ctypes.c_void_p] * 3]
    found = demangle(mangled.encode(), None, None, None)
    return ctypes.string_at(found).decode() if found else ""
