"""Removes an exercise's solution from the package that its answer can see.

The course's kernels and models hold most solutions a second time: the ladder of 09 to 12 is the reader's kernel, part
by part. An answer may use the course's other parts, and the kernel around it is made of them, so modules cannot be
hidden whole. In the sandbox each is replaced by a copy in which the functions that solve the exercise have no body.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import unwrap
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Exercise
from tutorlib.checking.library_use import InModule, Tool
from tutorlib.checking.values import ValueExercise
from tutorlib.exercises import of_notebook
from tutorlib.paths import ROOT

PACKAGE = "tutorlib."
KERNELS = "tutorlib.kernels."
# References, mistakes and hints: `sent_exercise` says how one does without them.
HIDDEN = re.compile(r"tutorlib\.exercises\.(?!n\d\d_\w+\.judge\.)")
GONE = 'raise NotImplementedError("the course\'s own solution is not here while an answer is graded")'
Function = tuple[str, str]  # its module and its qualified name
Named = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Round:
    """Exercises of a page that are judged in one sandbox.

    lacks: the functions that are not there. whole: whether the package is there as it is, its exercises too, as the
    course's own solved pages need it, which show hints and tables.
    """

    exercises: tuple[str, ...]
    lacks: frozenset[Function] = frozenset()
    whole: bool = False

    def replaced(self, folder: Path) -> Mapping[Path, Path]:
        """Module's file → its copy without the solutions, which `sandbox.sandboxed_command` puts in its place.

        folder: a new one, for the copies.
        """
        folder.mkdir()
        return redacted_modules(self.lacks, folder)


@cache
def rounds_of(notebook: str) -> tuple[Round, ...]:
    """The fewest sandboxes in which no exercise's solution is in reach of its answer.

    Most exercises share one: models and layouts that solve one exercise are of no use to another. Kernels are made of
    each other: a part of one is compiled together with the course's other parts, which solve other exercises of the
    page, and so an exercise that the kernels solve has a sandbox that lacks its own solution alone. On a page without
    kernels every function is there: answers are searched for the names of those that are forbidden.
    """
    if all(isinstance(one, ValueExercise) for one in of_notebook(notebook)):
        return (Round(tuple(one.id for one in of_notebook(notebook))),)
    alone: dict[frozenset[Function], list[str]] = {}
    shared: list[str] = []
    lacks: set[Function] = set()
    for exercise in of_notebook(notebook):
        own = frozenset(solutions_of(exercise))
        if any(module.startswith(KERNELS) for module, _ in own):
            alone.setdefault(own, []).append(exercise.id)
        else:
            shared.append(exercise.id)
            lacks |= own
    if alone and not lacks:  # then any of the other sandboxes will do
        next(iter(alone.values())).extend(shared)
    elif shared:
        alone[frozenset(lacks)] = shared
    return tuple(Round(tuple(ids), own) for own, ids in alone.items())


def solutions_of(exercise: Exercise) -> Iterator[Function]:
    """The functions of the package, outside of its exercises, that do what the exercise asks for."""
    found: list[Tool] = [*getattr(exercise, "library", {}).values()]
    if isinstance(exercise, ValueExercise):
        found += [case.reference for case in exercise.cases if case.reference]
    for tool in found:
        module, name = definition_place(tool)
        if module.startswith(PACKAGE) and not HIDDEN.match(module):
            yield module, name


def definition_place(tool: Tool) -> Function:
    """The module and name of a function; ("", "") for an attribute's name, which has none."""
    if isinstance(tool, str):
        return "", ""
    if isinstance(tool, InModule):
        return defined_at(tool.module, tool.name) if tool.module.startswith(PACKAGE) else ("", "")
    function: Any = unwrap(tool.fget) if isinstance(tool, property) and tool.fget else unwrap(tool)  # type: ignore[arg-type]
    return str(getattr(function, "__module__", "")), str(getattr(function, "__qualname__", ""))


def defined_at(module: str, name: str) -> Function:
    """The module that defines a name, which another one may import. Nothing is imported here: CuTe takes seconds."""
    for node in ast.parse(file_of(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return defined_at(node.module, alias.name)
    return module, name


def file_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def redacted_modules(functions: Iterable[Function], folder: Path) -> Mapping[Path, Path]:
    """A module's file → its copy without these functions' bodies, written below `folder`."""
    by_module: dict[str, set[str]] = {}
    for module, name in functions:
        by_module.setdefault(module, set()).add(name)
    copies = {}
    for module, names in by_module.items():
        copy = folder / f"{module}.py"
        copy.write_text(redacted(file_of(module).read_text(encoding="utf-8"), names), encoding="utf-8")
        copies[file_of(module)] = copy
    return copies


def redacted(source: str, names: Iterable[str]) -> str:
    """The source in which each of these functions only raises, and of these classes each method; lines stay in place.

    names: qualified: "gemm", "Timeline.period". "Cache.__init__" stands for the class. Raises LookupError.
    """
    lines = source.splitlines()
    left = {name.removesuffix(".__init__") for name in names}
    for name, node in functions_and_classes(ast.parse(source).body):
        if name in left:
            left.discard(name)
            for function in [node] if not isinstance(node, ast.ClassDef) else node.body:
                if isinstance(function, ast.FunctionDef):
                    take_body_out(lines, function)
    if left:
        raise LookupError(f"no function is called {', '.join(sorted(left))}")
    return "\n".join(lines) + "\n"


def functions_and_classes(
    body: Sequence[ast.stmt], inside: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Functions and classes by their qualified names, those of classes among them."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield f"{inside}{node.name}", node
        if isinstance(node, ast.ClassDef):
            yield from functions_and_classes(node.body, f"{inside}{node.name}.")


def take_body_out(lines: list[str], function: ast.FunctionDef) -> None:
    """Put GONE in the place of a function's body. Its docstring goes, too: it may tell how."""
    first, last = function.body[0], function.end_lineno
    assert last
    start = first.lineno - 1
    indent = lines[start][: first.col_offset]
    if first.lineno == function.lineno:  # all in one line
        lines[start] = lines[start][: first.col_offset] + GONE
        return
    lines[start:last] = [indent + GONE, *[""] * (last - start - 1)]
