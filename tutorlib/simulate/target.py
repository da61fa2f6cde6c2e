"""A kernel named on the command line: FILE.py::NAME, FILE.ptx or FILE.cu."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tutorlib.compiling.source_files import module_of
from tutorlib.dsl.cute.functions import says_it_is_jit
from tutorlib.dsl.cutile.kernels import function_of
from tutorlib.simulate.arguments import BadInput, one_line
from tutorlib.simulate.kept import ENDING
from tutorlib.simulate.tool import is_tile_kernel

SOURCES = (".ptx", ".cu", ENDING)


def load_target(target: str) -> tuple[Any, str]:
    """The kernel or host function, or the Path of a source; and of a source, the name of its kernel, or "".

    target: "gemm.py::gemm"; "gemm.py::Gemm(128, 64)", an expression in the module's names; "gemm.py", if it has one
        host function; "scale.cu::scale" or "scale.ptx".
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
    """The value of an expression in a file's names; of "", its only host function or cuTile kernel. Raises BadInput."""
    module = imported(path)
    if not expression:
        found = list(kernels_of(module))
        if len(found) != 1:
            raise BadInput(f"{path} has {len(found)} kernels: name one, as in {path}::{found[0] if found else 'HOST'}")
        expression = found[0]
    try:
        return eval(expression, dict(vars(module)))
    except NameError as error:
        names = [name for name, value in vars(module).items() if is_own(value, module) and not name.startswith("_")]
        raise BadInput(f"{path}: {error}; it has {', '.join(names) or 'no functions'}") from None
    except Exception as error:
        raise BadInput(f"{path}: {expression} raises {one_line(error)}") from error


def kernels_of(module: ModuleType) -> Iterator[str]:
    """The names of a module's own @cute.jit functions and @ct.kernels."""
    for name, value in vars(module).items():
        if is_own(value, module) and (says_it_is_jit(value) or is_tile_kernel(value)):
            yield name


def is_own(value: Any, module: ModuleType) -> bool:
    """Whether a function, class or kernel is defined in the module."""
    defined = function_of(value) if is_tile_kernel(value) else value
    return callable(value) and getattr(defined, "__module__", "") == module.__name__


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
