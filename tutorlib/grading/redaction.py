"""A page's library without what the page forbids: copies of modules in which those functions only ask (`library`)."""

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from py_compile import PycInvalidationMode, compile
from tempfile import TemporaryDirectory

from tutorlib.grading.library import ALGEBRA, served
from tutorlib.grading.sandbox import SYSTEM
from tutorlib.paths import ROOT

STUB = (
    "def {name}(*args, **kwargs):\n"
    "    from tutorlib.grading.library_client import ask\n"
    "    return ask({key!r}, args, kwargs)"
)
ORACLE = "tutorlib.layouts.oracle:ask"
ORACLES = ("nvidia_cutlass_dsl", "torch/distributed/_pycute")  # packages that have the algebra as well
SITES = ("lib*/python3*/*-packages", "local/lib*/python3*/*-packages")  # below a prefix


def redacted(module: str, text: str, keys: Collection[str]) -> str:
    """The module's text with a stub in place of each function of these keys, "module:Class.method".

    From the algebra's module the private functions go as well that only those need. Other modules import each other's.
    """
    tree = ast.parse(text)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, node in functions.items():
        if f"{module}:{name}" in keys:
            make_stub(node, f"{module}:{name}")
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for node in owner.body:
            if isinstance(node, ast.FunctionDef) and (key := f"{module}:{owner.name}.{node.name}") in keys:
                make_stub(node, key)
    if module == ALGEBRA:
        left: list[ast.AST] = [node for node in tree.body if not is_private(node)]
        kept = {*map(id, left)}
        while left:
            names = {one.id for one in ast.walk(left.pop()) if isinstance(one, ast.Name)}
            more = [functions[name] for name in names & functions.keys() if id(functions[name]) not in kept]
            kept |= {*map(id, more)}
            left += more
        tree.body = [node for node in tree.body if id(node) in kept]
    return ast.unparse(tree)


def is_private(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name.startswith("_")


def make_stub(node: ast.FunctionDef, key: str) -> None:
    """Its decorators stay."""
    (made,) = ast.parse(STUB.format(name=node.name, key=key)).body
    assert isinstance(made, ast.FunctionDef)
    node.args, node.body, node.returns = made.args, made.body, None


@cache
def copies(notebook: str) -> Mapping[Path, bytes]:
    """Files of packages, as the student's process finds them → what it finds there instead: sources and bytecode."""
    contents: dict[Path, bytes] = {}
    with TemporaryDirectory(prefix="tutor-") as folder:
        source, bytecode = Path(folder, "source.py"), Path(folder, "source.pyc")
        for module, keys in groupby(served(notebook), lambda key: key.partition(":")[0]):
            file = str(sys.modules[module].__file__)
            source.write_text(redacted(module, Path(file).read_text(encoding="utf-8"), set(keys)), encoding="utf-8")
            compile(str(source), str(bytecode), file, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
            for path in installed(f"{module.replace('.', '/')}.py"):
                contents[path] = source.read_bytes()
                of_others = (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc")
                contents |= dict.fromkeys(of_others, bytecode.read_bytes())
    return contents


def replaced(notebook: str, folder: Path) -> dict[Path, Path]:
    """`copies`, as files in a new folder: path → the file in its place."""
    folder.mkdir()
    files = {}
    for number, (path, content) in enumerate(copies(notebook).items()):
        files[path] = folder / f"{number}{path.suffix}"
        files[path].write_bytes(content)
    return files


def other_copies(notebook: str) -> Iterator[Path]:
    """Packages that a page's process does not see, since what the page asks for stands in them, too."""
    for package in ORACLES if ORACLE in served(notebook) else ():
        yield from installed(package)


def installed(part: str) -> Iterator[Path]:
    """Wherever a file or folder of a package stands, of all that is seen in the sandbox."""
    if (ROOT / part).exists():
        yield ROOT / part
    for prefix in dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *SYSTEM)):
        for sites in SITES:
            yield from Path(prefix).glob(f"{sites}/{part}")
