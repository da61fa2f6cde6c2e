"""The house as a whole: imports point downward, cost nothing and make no cycle."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tutorlib.paths import ROOT

PACKAGE = ROOT / "tutorlib"

# Contracts ------------------------------------------------------------------------------------------------------


def test_the_contracts_hold():
    """As pyproject.toml has them."""
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Contracts: 3 kept, 0 broken." in done.stdout


# Cost -----------------------------------------------------------------------------------------------------------

HEAVY = ("torch", "cutlass", "cuda", "matplotlib", "numpy", "pandas", "ipywidgets", "tensor_layouts", "nbformat")


@pytest.mark.parametrize(
    ("module", "may"),
    [
        ("tutorlib", ()),  # nor the notebooks' part, until a name of it is used
        ("tutorlib.cli", ()),
        ("tutorlib.checking.kernel", ()),
        ("tutorlib.compiling.dsls", ()),
        ("tutorlib.dsl.functions", ()),
        ("tutorlib.compiling.cpp", ()),
        ("tutorlib.layouts.oracle", ("tensor_layouts",)),
        ("tutorlib.notebook.measured", ()),
        ("tutorlib.exercises.p16", ()),  # whoever grades looks at the exercises of every page
        ("tutorlib.grading.page_process", ("tensor_layouts",)),  # each page that is graded imports it
    ],
)
def test_importing_a_module_imports_nothing_heavy(module, may):
    code = f"import sys, {module}; print(*sorted({set(HEAVY)!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= set(may)


# The course's own kernels and the solutions' ----------------------------------------------------------------------

LADDER = {  # notebook that shows it first → the course's own
    "09": [*sorted((PACKAGE / "kernels" / "ampere").glob("*.py")), PACKAGE / "kernels" / "ladder.py"],
    "13": [PACKAGE / "kernels" / "hopper" / "first.py"],
    "14": [PACKAGE / "kernels" / "hopper" / "parts.py"],
}
OTHERS = ("store",)  # the course's compares nothing where tiles divide C, and page 09's always does


def functions(code: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}


def solved_functions() -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """Notebook, name and function, of every code cell of every solution."""
    from tutorlib.course.source import parse
    from tutorlib.paths import SOLUTIONS, notebook_names

    for notebook in notebook_names():
        for cell in parse(SOLUTIONS / f"{notebook}.py"):
            if cell.kind == "code" and "def " in cell.solved and not cell.solved.lstrip().startswith(("%", "!")):
                for name, function in functions(cell.solved).items():
                    yield notebook, name, function


def same(one: ast.FunctionDef, other: ast.FunctionDef) -> bool:
    """Whether two functions do the same: docstrings aside, and annotations that only one of them has."""
    kept = []
    both = {
        mine.arg
        for mine, theirs in zip(one.args.args, other.args.args, strict=False)
        if mine.annotation and theirs.annotation
    }
    for function in (one, other):
        if ast.get_docstring(function) is not None:
            function.body = function.body[1:]
        for argument in function.args.args:
            if argument.arg not in both:
                argument.annotation = None
        if not (one.returns and other.returns):
            function.returns = None
        kept.append(ast.dump(function))
    return kept[0] == kept[1]


def test_what_a_solution_and_the_course_define_under_one_name_is_the_same():
    """In the notebook that defines it first; a later one may show its own way."""
    own = {
        (first, name): function
        for first, files in LADDER.items()
        for file in files
        for name, function in functions(file.read_text()).items()
    }
    compared: dict[tuple[str, str], str] = {}  # (first notebook, name) → the notebook that defines it
    for notebook, name, function in solved_functions():
        key = max((page for page in LADDER if page <= notebook[:2]), default=""), name
        if key in own and key not in compared and name not in OTHERS:
            compared[key] = notebook[:2]
            assert same(function, ast.parse(ast.unparse(own[key])).body[0]), f"{notebook}: {name}"
    assert len(compared) > 20
