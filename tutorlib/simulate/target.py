"""`tutor simulate TARGET`: a kernel of a file on random tensors, in a process of its own.

The command line names the kernel, FILE.py::NAME, FILE.ptx or FILE.cu, and its tensors by shape and dtype.
"""

import ast
import multiprocessing
import re
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tutorlib.compiling.dsls import module_of
from tutorlib.compiling.errors import CompileFailed, ToolMissing, compile_failure
from tutorlib.dsl.failure import Hazard
from tutorlib.dsl.functions import function_of
from tutorlib.dsl.refusals import cute_message
from tutorlib.simulate.command import BadInput, one_line
from tutorlib.simulate.ptx.findings import Finding
from tutorlib.simulate.ptx.launch import fresh_memory
from tutorlib.simulate.report import Report
from tutorlib.simulate.tensors import is_poison, poison
from tutorlib.simulate.tool import argument_names, simulate

OF_TORCH = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}  # NumPy has no such numbers
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
DTYPES = {"fp64": "float64", "fp32": "float32", "fp16": "float16", **OF_TORCH, **{kind: kind for kind in INTEGERS}}
MARKS = ("out", "zeros", "col")  # what the kernel writes; zeros; the first mode is contiguous instead of the last
TENSOR = re.compile(r"(?P<shape>\d+(?:x\d+)*):(?P<dtype>\w+)(?P<marks>(?::\w+)*)")
EXAMPLE = "--arg 128x64:bf16 is a random tensor, --arg 128x64:bf16:out an output, --arg 128 a number"


def parse_argument(text: str, generator: np.random.Generator) -> Any:
    """ "128x64:bf16", a tensor of random numbers, with MARKS after it; or a Python literal such as 128, 0.5 or True.

    The tensor is NumPy's, or torch's for numbers that NumPy lacks; an output is poison.
    Raises BadInput.
    """
    found = TENSOR.fullmatch(text)
    if not found:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise BadInput(f"--arg {text}: {EXAMPLE}") from None
    dtype, marks = found["dtype"], found["marks"].split(":")[1:]
    if dtype not in DTYPES or not {*marks} <= {*MARKS}:
        raise BadInput(f"--arg {text}: there are the dtypes {', '.join(DTYPES)} and the marks {', '.join(MARKS)}")
    shape = tuple(map(int, found["shape"].split("x")))[:: -1 if "col" in marks else 1]
    numbers: np.ndarray = generator.standard_normal(shape)
    if dtype in INTEGERS:
        numbers = generator.integers(0, 2 if dtype == "bool" else 8, shape)
    tensor: Any = np.zeros_like(numbers) if "zeros" in marks else numbers
    if dtype in OF_TORCH:
        import torch

        tensor = torch.from_numpy(tensor).to(getattr(torch, DTYPES[dtype]))
    else:
        values = tensor.astype(DTYPES[dtype])
        tensor = fresh_memory(values.nbytes).view(values.dtype).reshape(shape)
        tensor[...] = values
    if "out" in marks:
        poison(tensor)
    return tensor.T if "col" in marks else tensor


def parse_sizes(option: str, text: str) -> tuple[int, ...]:
    """ "8x4" as (8, 4); "" as (). Raises BadInput."""
    if not re.fullmatch(r"(\d+(x\d+){0,2})?", text):
        raise BadInput(f"{option} {text}: one to three sizes, as {option} 8x4")
    return tuple(map(int, text.split("x"))) if text else ()


def load_target(target: str) -> tuple[Any, str]:
    """The kernel or host function, or the Path of a source; and of a source, the name of its kernel, or "".

    target: "gemm.py::gemm"; "gemm.py::Gemm(128, 64)", an expression in the module's names; "scale.cu::scale";
        "scale.ptx".
    Raises BadInput.
    """
    file, _, name = target.partition("::")
    path = Path(file)
    if path.suffix not in (".py", ".ptx", ".cu"):
        raise BadInput(f"{file} is no kernel's file: name FILE.py::HOST, FILE.ptx or FILE.cu")
    if not path.is_file():
        raise BadInput(f"{file}: there is no such file")
    if path.suffix != ".py":
        return path, name
    module = imported(path)
    public = {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
    own = [name for name, value in public.items() if function_of(value).__module__ == module.__name__]
    has = f"it has {', '.join(own) or 'no functions'}"
    if not name:
        raise BadInput(f"{path}: name a kernel, as in {path}::HOST; {has}")
    try:
        return eval(name, dict(vars(module))), ""
    except Exception as error:
        raise BadInput(f"{path}: {name} raises {one_line(error)}; {has}") from error


def imported(path: Path) -> ModuleType:
    """A file as a module, of its package if its folder is one; it finds the files beside it, as a script does.

    Raises BadInput.
    """
    own = folder = path.resolve().parent
    name = path.stem
    while (folder / "__init__.py").exists():
        folder, name = folder.parent, f"{folder.name}.{name}"
    sys.path[:0] = dict.fromkeys((str(own), str(folder)))
    try:
        return import_module(name) if "." in name else module_of(path.resolve(), name)
    except Exception as error:
        raise BadInput(f"{path} cannot be imported: {one_line(error)}") from error


def simulate_alone(target: str, *options: Any) -> Report:
    """`simulate_target` in a process of its own. Raises BadInput."""
    # Fork is faster. A fork of a process that has used CuTe would wait for MLIR's threads, which it lacks.
    context = multiprocessing.get_context("spawn" if "cutlass" in sys.modules else "fork")
    try:
        with ProcessPoolExecutor(1, context) as process:
            return process.submit(simulate_target, target, *options).result()
    except BrokenProcessPool:
        raise BadInput(f"{target} crashes while it is simulated") from None


def simulate_target(
    target: str, arguments: Sequence[str], arch: str, sizes: dict[str, str], smem: int, seed: int
) -> Report:
    """Everything as the command line has it. sizes: of grid, block and cluster. Raises BadInput if nothing ran."""
    if loaded := sys.modules.get("torch"):
        loaded.set_num_threads(1)  # a forked process lacks the threads of the pool that its parent has
    generator = np.random.default_rng(seed)
    given = [parse_argument(text, generator) for text in arguments]
    launch: dict[str, Any] = {name: parse_sizes(f"--{name}", text) for name, text in sizes.items()}
    kernel, entry = load_target(target)
    try:
        values = given
        if not isinstance(kernel, Path):
            import torch

            values = [torch.as_tensor(value) if isinstance(value, np.ndarray) else value for value in given]
        report = simulate(kernel, *values, arch=arch, smem=smem, entry=entry, **launch)
        names = argument_names(kernel, len(given), entry)
    except (ValueError, TypeError, NotImplementedError, ModuleNotFoundError, ToolMissing) as error:
        raise BadInput(f"{target}: {error}") from error
    except Exception as error:  # of a compiler, or of the user's own code
        said = cute_message(error) if "cutlass" in sys.modules else one_line(error)
        failed = error if isinstance(error, CompileFailed) else compile_failure(error, said)
        raise BadInput(f"{target} fails for sm_{arch}: {' '.join(failed.lines)}") from error
    *before, last = report.launches
    for name, value, text in zip(names, given, arguments, strict=True):
        if ":out" in text and not last.stopped and (mask := is_poison(value)).any():
            says = f"{int(mask.sum()):,} of {mask.size:,} elements of {name} are never written"
            last = replace(last, findings=(*last.findings, Finding(Hazard.UNWRITTEN, says)))
    return replace(report, returned=None, launches=(*before, last))
