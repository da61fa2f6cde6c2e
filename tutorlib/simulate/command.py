"""`tutor simulate`: an unchanged command, or a kernel of a file on random tensors, in a process of its own.

The command line names the kernel, FILE.py::NAME, FILE.ptx or FILE.cu, and its tensors by shape and dtype.
"""

import ast
import json
import multiprocessing
import re
import shlex
import signal
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from tutorlib.compiling.dsls import module_of
from tutorlib.compiling.errors import CompileFailed, ToolMissing, without_colours
from tutorlib.dsl.functions import inside_of_kernel
from tutorlib.simulate.ptx.launch import fresh_memory
from tutorlib.simulate.report import Report, number_of, to_sarif
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


def lacks_letter(arch: str) -> str:
    """A hint, of an architecture that leaves out the instructions that only its GPU has: wgmma, tcgen05."""
    return f" (--arch {arch}a has more instructions)" if arch.isdigit() and int(arch) >= 90 else ""


def one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {without_colours(str(error))}".split())


DTYPES = {
    **{"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16"},
    **{"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"},
    **{kind: kind for kind in ("int64", "int32", "int16", "int8", "uint8", "bool")},
}
OF_TORCH = ("bf16", "e4m3", "e5m2")  # NumPy has no such numbers
FILLS = ("out", "zeros", "col")
TENSOR = re.compile(r"(?P<shape>\d+(?:x\d+)*):(?P<dtype>\w+)(?P<marks>(?::\w+)*)")
INTEGERS = 8  # random ones are 0 … 7
EXAMPLE = "--arg 128x64:bf16 is a random tensor, --arg 128x64:bf16:out one that the kernel writes, --arg 128 a number"


@dataclass(frozen=True)
class Given:
    """An argument.

    value: a number, or a tensor: a NumPy array, or torch's for numbers that NumPy lacks. is_output: whether the kernel
    is to write all of the tensor, which begins as poison.
    """

    value: Any
    is_output: bool = False

    @property
    def for_torch(self) -> Any:
        """The value, an array as a torch tensor in the same memory."""
        import torch

        return torch.as_tensor(self.value) if isinstance(self.value, np.ndarray) else self.value


def parse_argument(text: str, generator: np.random.Generator) -> Given:
    """ "128x64:bf16", a tensor of random numbers, with marks after it; or a Python literal such as 128, 0.5 or True.

    Marks: "out": what the kernel writes; "zeros"; "col": the first mode is contiguous instead of the last.
    Raises BadInput.
    """
    found = TENSOR.fullmatch(text)
    if not found:
        try:
            return Given(ast.literal_eval(text))
        except (ValueError, SyntaxError):
            raise BadInput(f"--arg {text}: {EXAMPLE}") from None
    marks = found["marks"].split(":")[1:]
    if found["dtype"] not in DTYPES:
        raise BadInput(f"--arg {text}: there is no dtype {found['dtype']}; there are {', '.join(DTYPES)}")
    if unknown := next((mark for mark in marks if mark not in FILLS), ""):
        raise BadInput(f"--arg {text}: there is no mark {unknown}; there are {', '.join(FILLS)}")
    shape = tuple(map(int, found["shape"].split("x")))
    tensor = random(shape[::-1] if "col" in marks else shape, found["dtype"], generator)
    if "zeros" in marks:
        tensor[...] = 0
    if "out" in marks:
        poison(tensor)
    return Given(tensor.T if "col" in marks else tensor, "out" in marks)


def random(shape: tuple[int, ...], dtype: str, generator: np.random.Generator) -> Any:
    """A tensor of normally distributed numbers, or of small integers; torch's where NumPy lacks the dtype."""
    numbers: np.ndarray = generator.standard_normal(shape)
    if not dtype.startswith(("fp", "bf", "e")):
        numbers = generator.integers(0, 2 if dtype == "bool" else INTEGERS, shape)
    if dtype in OF_TORCH:
        import torch

        return torch.from_numpy(numbers).to(getattr(torch, DTYPES[dtype]))
    made = numbers.astype(DTYPES[dtype])
    tensor = fresh_memory(made.nbytes).view(made.dtype).reshape(made.shape)
    tensor[...] = made
    return tensor


def parse_sizes(option: str, text: str) -> tuple[int, ...]:
    """ "8x4" as (8, 4); "" as (). Raises BadInput."""
    if not re.fullmatch(r"(\d+(x\d+){0,2})?", text):
        raise BadInput(f"{option} {text}: one to three sizes, as {option} 8x4")
    return tuple(map(int, text.split("x"))) if text else ()


SOURCES = (".ptx", ".cu")


def load_target(target: str) -> tuple[Any, str]:
    """The kernel or host function, or the Path of a source; and of a source, the name of its kernel, or "".

    target: "gemm.py::gemm"; "gemm.py::Gemm(128, 64)", an expression in the module's names; "scale.cu::scale";
        "scale.ptx".
    Raises BadInput.
    """
    file, _, name = target.partition("::")
    path = Path(file)
    if path.suffix not in (".py", *SOURCES):
        raise BadInput(f"{file} is no kernel's file: name FILE.py::HOST, FILE.ptx or FILE.cu")
    if not path.is_file():
        raise BadInput(f"{file}: there is no such file")
    return (path, name) if path.suffix in SOURCES else (load_python(path, name), "")


def load_python(path: Path, expression: str) -> Any:
    """The value of an expression in a file's names. Raises BadInput."""
    module = imported(path)
    public = {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
    own = [name for name, value in public.items() if inside_of_kernel(value).__module__ == module.__name__]
    has = f"it has {', '.join(own) or 'no functions'}"
    if not expression:
        raise BadInput(f"{path}: name a kernel, as in {path}::HOST; {has}")
    try:
        return eval(expression, dict(vars(module)))
    except NameError as error:
        raise BadInput(f"{path}: {error}; {has}") from None
    except Exception as error:
        raise BadInput(f"{path}: {expression} raises {one_line(error)}") from error


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


Format = Literal["text", "json", "sarif"]


@dataclass(frozen=True)
class CommandResult:
    """wrong: sentences about unwritten outputs, or about how the command ended. known: how many findings the baseline
    has, which are not in the report.
    """

    report: Report
    wrong: tuple[str, ...] = ()
    known: int = 0

    @property
    def failed(self) -> bool:
        return bool(self.report.findings or self.wrong)

    def after(self, baseline: Path | None) -> "CommandResult":
        """Without the findings of a baseline, a report in JSON. Raises BadInput if it is none."""
        if baseline is None:
            return self
        try:
            known = {one["fingerprint"] for one in json.loads(baseline.read_text(encoding="utf-8"))["findings"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"--baseline {baseline}: no report that --format json wrote ({one_line(error)})") from None
        report = self.report.without(known)
        return replace(self, report=report, known=len(self.report.findings) - len(report.findings))

    def formatted(self, format: Format) -> str:
        if format == "sarif":
            return to_sarif(self.report)
        if format == "json":
            return self.report.to_json(wrong=list(self.wrong), known=self.known)
        known = [f"  {number_of(self.known, 'known finding')}"] if self.known else []
        verdict = [*self.report.verdict_lines(), *known, *(f"✗ {one}" for one in self.wrong)]
        return "\n".join([*verdict, *self.report.cost_lines()])


def simulate_script(command: Sequence[str], arch: str, format: Format) -> CommandResult:
    """A script, pytest or another command, unchanged. Its output goes to stderr where stdout is for data.

    Raises BadInput if it launches nothing.
    """
    try:
        launches, status = run_script(command, parse_arch(arch), format != "text")
    except OSError as error:
        raise BadInput(f"{error.filename or command[0]}: {error.strerror}") from None
    crash = signal_name(status)
    ended = f"crashes: {crash}" if crash else f"ends with status {status}" if status else ""
    said = shlex.join(command)
    if not launches:
        nothing = f"{ended} and launches no kernel{lacks_letter(arch)}" if ended else "launches no kernel"
        raise BadInput(f"{said} {nothing}")
    stopped = sum(bool(launch.stopped) for launch in launches)
    wrong = [f"{number_of(stopped, 'launch', 'launches')} could not be simulated"] if stopped else []
    wrong += [f"{said} {ended}"] if ended else []
    return CommandResult(Report(parse_arch(arch), launches), tuple(wrong))


def simulate_alone(target: str, **options: Any) -> CommandResult:
    """`simulate_target` in a process of its own. Raises BadInput."""
    # Fork is faster. A fork of a process that has used CuTe would wait for MLIR's threads, which it lacks.
    context = multiprocessing.get_context("spawn" if "cutlass" in sys.modules else "fork")
    try:
        with ProcessPoolExecutor(1, context) as process:
            return process.submit(simulate_target, target, **options).result()
    except BrokenProcessPool:
        raise BadInput(f"{target} crashes while it is simulated") from None


def simulate_target(
    target: str, arguments: Sequence[str], arch: str, grid: str, block: str, cluster: str, smem: int, seed: int
) -> CommandResult:
    """Everything as the command line has it. Raises BadInput if nothing was simulated."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # a forked process lacks the threads of the pool that its parent has
    generator = np.random.default_rng(seed)
    given = [parse_argument(text, generator) for text in arguments]
    launch: dict[str, Any] = {
        "arch": parse_arch(arch),
        "grid": parse_sizes("--grid", grid),
        "block": parse_sizes("--block", block),
        "cluster": parse_sizes("--cluster", cluster),
    }
    kernel, entry = load_target(target)
    try:
        values = [one.value if isinstance(kernel, Path) else one.for_torch for one in given]
        report = simulate(kernel, *values, **launch, smem=smem, entry=entry)
        names = argument_names(kernel, len(given), entry)
    except CompileFailed as error:
        raise BadInput(
            f"{target} does not compile for sm_{arch}{lacks_letter(launch['arch'])}: {' '.join(error.lines)}"
        ) from error
    except (ValueError, TypeError, NotImplementedError, ModuleNotFoundError, ToolMissing) as error:
        raise BadInput(f"{target}: {error}") from error
    except Exception as error:  # of cuTile's compiler, and of the user's own code
        raise BadInput(f"{target} raises {one_line(error)}") from error
    masks = {name: is_poison(one.value) for name, one in zip(names, given, strict=True) if one.is_output}
    unwritten = (
        f"{name}: {int(mask.sum()):,} of {number_of(mask.size, 'element')} are never written"
        for name, mask in masks.items()
        if mask.any()
    )
    return CommandResult(replace(report, returned=None), tuple(unwritten))


def signal_name(status: int) -> str:
    """Of a process's exit status: the signal that ended it, also as a shell tells it; "" if none did."""
    number = -status if status < 0 else status - 128
    return signal.strsignal(number) or "" if number in set(signal.Signals) else ""
