"""Which names of the DSLs a file says that they do not document: modules, private names, patches."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DSLS = ("cutlass", "cuda.tile")

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
    "_base": "torch",
    "_cdata": "torch",
    "_dispatch_has_computed_kernel_for_dispatch_key": "torch",
    "_dispatch_has_kernel_for_dispatch_key": "torch",
    "_dynamo": "torch",
    "_ops": "torch",
    "_scaled_mm": "torch",
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


class Said(NamedTuple):
    """kind: "module", "name" or "patch"."""

    kind: str
    name: str
    line: int


def said_of_the_dsls(source: str) -> Iterator[Said]:
    """What a file's code names of the DSLs that they do not document, and what of them it patches."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    of_dsl: set[str] = set()  # names in this file that stand for something of a DSL
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for each in names:
                    if is_dsls(each.name):
                        of_dsl.add((each.asname or each.name).split(".")[0])
                        if each.name not in DOCUMENTED:
                            yield Said("module", each.name, node.lineno)
            case ast.ImportFrom(module=str(module), names=names, level=0) if is_dsls(module):
                of_dsl |= {each.asname or each.name for each in names}
                if module not in DOCUMENTED:
                    yield Said("module", module, node.lineno)
                for each in names:
                    if is_private(each.name):
                        yield Said("name", each.name, node.lineno)
            case ast.Attribute(attr=name):
                own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
                if name in UNDOCUMENTED or (is_private(name) and name not in OTHERS and not own):
                    yield Said("name", name, node.lineno)
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                path = text.rstrip(".")  # "cuda.tile." begins names
                if is_dsls(path) and path.replace(".", "").isidentifier() and path not in DOCUMENTED:
                    yield Said("module", path, node.lineno)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="object" | "multiple"), args=[target, *_]):
                if first_name(target) in of_dsl:
                    yield Said("patch", ast.unparse(target), node.lineno)


def strings(source: str) -> Iterator[tuple[str, int]]:
    """The strings in a file's code, but for its docstrings."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value, node.lineno


def is_dsls(module: str) -> bool:
    return any(module == dsl or module.startswith(f"{dsl}.") for dsl in DSLS)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def first_name(node: ast.expr) -> str:
    """ "cute" of cute.arch."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")
