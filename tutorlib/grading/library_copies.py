"""A page's library without the functions that it forbids: in copies of modules, stubs ask `library_process`."""

import ast
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from py_compile import PycInvalidationMode, compile
from tempfile import TemporaryDirectory
from typing import TypeGuard

from tutorlib.grading.library_process import ALGEBRA, served
from tutorlib.grading.sandbox import SYSTEM
from tutorlib.paths import ROOT

STUB = (
    "def {name}(*args, **kwargs):\n"
    "    from tutorlib.grading.library_client import ask_library\n"
    "    return ask_library({key!r}, args, kwargs)"
)
ABSENT = "def {name}(*args, **kwargs):\n    raise NotImplementedError('{name} is not on this page: see page 00.')"
ORACLE = "tutorlib.layouts.oracle:ask"
CUTLASS = "nvidia_cutlass_dsl"  # the oracle's package, which no answer needs where the oracle is forbidden
PYCUTE = "torch/distributed/_pycute/layout.py"  # the algebra once more; torch imports its names
SITES = ("lib*/python3*/*-packages", "local/lib*/python3*/*-packages")  # below a prefix


def with_stubs(module: str, keys: Collection[str], text: str) -> str:
    """The module's text with a stub in place of each function of these keys, "module:Class.method".

    The private functions of the algebra's module go as well: only those functions need them.
    """
    tree = ast.parse(text)
    if module == ALGEBRA:
        tree.body = [node for node in tree.body if not getattr(node, "name", "").startswith("_")]
    for prefix, body in (("", tree.body), *((f"{one.name}.", one.body) for one in tree.body if is_class(one))):
        for node in body:
            if isinstance(node, ast.FunctionDef) and (key := f"{module}:{prefix}{node.name}") in keys:
                make_stub(node, STUB, key)
    return ast.unparse(tree)


def is_class(node: ast.stmt) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef)


def functions_absent(text: str) -> str:
    """A module's text whose functions are there by name alone."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            make_stub(node, ABSENT)
    return ast.unparse(tree)


def make_stub(node: ast.FunctionDef, stub: str, key: str = "") -> None:
    """Its decorators stay."""
    (made,) = ast.parse(stub.format(name=node.name, key=key)).body
    assert isinstance(made, ast.FunctionDef)
    node.args, node.body, node.returns = made.args, made.body, None


@cache
def copies(notebook: str) -> Mapping[Path, bytes]:
    """Files of packages, as the student's process finds them → what it finds there instead: sources and bytecode."""
    contents: dict[Path, bytes] = {}
    with TemporaryDirectory(prefix="tutor-") as folder:
        source, bytecode = Path(folder, "source.py"), Path(folder, "source.pyc")
        for part, cut in cuts(notebook).items():
            for path in installed(part):
                source.write_text(cut(path.read_text(encoding="utf-8")), encoding="utf-8")
                compile(str(source), str(bytecode), str(path), invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
                contents[path] = source.read_bytes()
                kept = (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc")
                contents |= dict.fromkeys(kept, bytecode.read_bytes())
    return contents


def cuts(notebook: str) -> Mapping[str, Callable[[str], str]]:
    """Files below a folder of packages → what makes their text the page's."""
    modules = groupby(served(notebook), lambda key: key.partition(":")[0])
    found = {f"{one.replace('.', '/')}.py": partial(with_stubs, one, frozenset(keys)) for one, keys in modules}
    return {**found, PYCUTE: functions_absent} if ORACLE in served(notebook) else found


def library_copies(notebook: str, folder: Path) -> dict[Path, Path | None]:
    """`copies`, as files in a new folder: path → the file in its place. None for a package that is not there at all."""
    folder.mkdir()
    files: dict[Path, Path | None] = dict.fromkeys(other_copies(notebook))
    for number, (path, content) in enumerate(copies(notebook).items()):
        files[path] = file = folder / f"{number}{path.suffix}"
        file.write_bytes(content)
        file.chmod(0o644)  # the sandbox may be another user's
    return files


def other_copies(notebook: str) -> Iterator[Path]:
    """Packages hidden from a page's process, because they contain what the page asks for."""
    if ORACLE in served(notebook):
        yield from installed(CUTLASS)


def installed(part: str) -> Iterator[Path]:
    """The places of a package's file or folder that the sandbox shows."""
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    behind = (real for real in map(os.path.realpath, prefixes) if real.startswith(SYSTEM))  # seen twice there
    folders = [ROOT, *(Path(folder) for folder in sys.path if folder)]
    for prefix in dict.fromkeys((*prefixes, *behind, *SYSTEM)):
        sites = (found for pattern in SITES for found in Path(prefix).glob(pattern))
        folders += {found.resolve(): found for found in sites}.values()  # lib64 may be another name of lib
    yield from (folder / part for folder in dict.fromkeys(folders) if (folder / part).exists())
