"""`tutor simulate`: an unchanged command, or a kernel of a file on random tensors, in a process of its own.

The command line names the kernel, FILE.py::NAME, FILE.ptx or FILE.cu, and its tensors by shape and dtype.
"""

import ast
import json
import multiprocessing
import re
import shlex
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
from tutorlib.compiling.errors import CompileFailed, ToolMissing, compile_failure, without_colours
from tutorlib.dsl.failure import Hazard
from tutorlib.dsl.functions import function_of
from tutorlib.dsl.refusals import cute_message
from tutorlib.simulate.ptx.findings import Finding
from tutorlib.simulate.ptx.launch import fresh_memory
from tutorlib.simulate.report import Report, number_of
from tutorlib.simulate.stand_in.script import run_script
from tutorlib.simulate.tensors import is_poison, poison
from tutorlib.simulate.tool import argument_names, simulate


class BadInput(ValueError):
    """Something on the command line is wrong. One line, which says what to write instead."""


def parse_arch(text: str) -> str:
    """ "90a", or "sm_90a". Raises BadInput."""
    arch = text.removeprefix("sm_")
    if not re.fullmatch(r"\d{2,3}[af]?", arch):
        raise BadInput(f"--arch {text}: a compute capability is 80 (Ampere), 90a (Hopper) or 100a (Blackwell)")
    return arch


def one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {without_colours(str(error))}".split())


# A kernel of a file ---------------------------------------------------------------------------------------------

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
        why = " ".join(failed.lines)
        raise BadInput(f"{target} fails for sm_{arch}: {why}") from error
    outputs = {name: value for name, value, text in zip(names, given, arguments, strict=True) if ":out" in text}
    *before, last = report.launches
    unwritten = tuple(
        Finding(Hazard.UNWRITTEN, f"{int(mask.sum()):,} of {mask.size:,} elements of {name} are never written")
        for name, mask in ((name, is_poison(value)) for name, value in outputs.items())
        if mask.any()
    )
    last = replace(last, findings=(*last.findings, *unwritten))
    return replace(report, returned=None, launches=(*before, last))


# A command ------------------------------------------------------------------------------------------------------


def simulate_script(command: Sequence[str], arch: str, quiet: bool) -> Report:
    """Run a script, pytest or another command, unchanged. quiet: its output goes to stderr.

    Raises BadInput if it launches nothing.
    """
    try:
        launches, status = run_script(command, arch, quiet)
    except OSError as error:
        raise BadInput(f"{error.filename or command[0]}: {error.strerror}") from None
    said, ended = shlex.join(command), f"ends with status {status}" if status else ""
    if not launches:
        raise BadInput(f"{said} {f'{ended} and ' if ended else ''}launches no kernel")
    stopped = sum(bool(launch.stopped) for launch in launches)
    wrong = [f"{number_of(stopped, 'launch', 'launches')} could not be simulated"] if stopped else []
    wrong += [f"{said} {ended}"] if ended else []
    return Report(arch, launches, wrong=tuple(wrong))


def read_baseline(file: Path) -> set[str]:
    """The fingerprints of the findings of a report in JSON. Raises BadInput if it is none."""
    try:
        return {finding["fingerprint"] for finding in json.loads(file.read_text(encoding="utf-8"))["findings"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"--baseline {file}: no report that --format json wrote ({one_line(error)})") from None
