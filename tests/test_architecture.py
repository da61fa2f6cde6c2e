"""The house: what imports what, and which words are used."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tutorlib.paths import ROOT, SOLUTIONS, notebook_names

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
        ("tutorlib.exercises.p18", ()),  # whoever grades looks at the exercises of every page
        ("tutorlib.grading.page_process", ("tensor_layouts",)),  # each page that is graded imports it
    ],
)
def test_importing_a_module_imports_nothing_heavy(module, may):
    code = f"import sys, {module}; print(*sorted({set(HEAVY)!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= set(may)


# The course's own kernels and the solutions' ----------------------------------------------------------------------

LADDER = {  # notebook that shows it first → the course's own
    "10": [*sorted((PACKAGE / "kernels" / "ampere").glob("*.py")), PACKAGE / "kernels" / "ladder.py"],
    "14": [PACKAGE / "kernels" / "hopper" / "first.py"],
    "15": [PACKAGE / "kernels" / "hopper" / "parts.py"],
}
# The course's are for any tile, those of pages 10 and 14 for one; page 15's always defers its stores.
OTHERS = ("store", "wgmma_fragments", "consume_tiles")


def functions(code: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}


def solved_functions() -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """Notebook, name and function, of every code cell of every solution."""
    from tutorlib.course.source import parse
    from tutorlib.paths import SOLUTIONS

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
    assert len(compared) > 7


# Words ---------------------------------------------------------------------------------------------------------------

TERMS = {  # private word → the field's term
    "under way": "in flight",
    "on its way into": "in flight",
    "sends? for": "issues the load of",
    "sent for": "issued the load of",
    "gives? (?:an )?orders?": "issues an instruction",
    "dice": "random inputs",
    "dearer": "costs more",
    "roads?": "bandwidth, traffic",
    "looks? on": "is idle",
    '(?<!")stamps': "timestamps",  # it is a key of result files
    "for ever": "forever",
    "per cent": "percent",
    "(?:behind|outside) the wall": "in the sandbox, on the host",
    "somebody|whoever": "a thread, a warp, a student",
    "everybody": "every thread",
    "anybody": "a thread",
    "multiprocessors": "SMs",
    "a (?:thread|warp|tile)'s sums": "accumulators",
    "hangs? over": "extends past",
    "(?:parts|pieces) of K": "slices of K",
    "the rest of the tiles?": "the residue, the edge tile",
    "besides": "in addition to",
    "who comes": "which thread accesses it",
    "wants? an? (?:NVIDIA )?GPU": "needs a GPU",
    "is read here as": "is treated as",
    "hands? over": "passes",
}
PAGES = sorted(SOLUTIONS.glob("[0-9][0-9]_*.py"))
FILES = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = [ROOT / "tutorlib" / name for name in ("notebook", "course", "figures", "draw", "explorers")]
REWRITTEN = [
    *(ROOT / "tutorlib" / "cli.py", *(path for folder in FOLDERS for path in sorted(folder.rglob("*.py")))),
    *sorted((ROOT / "tutorlib" / "exercises" / "words").glob("*.toml")),
]
GONE_FROM_THESE = {
    **TERMS,
    "nobody": "no student, no thread",
    "mend(?:s|ed)?": "fix, repair, correct",
    "so many": "n",
    "thriftier": "saves energy",
    "lie": "is, is contiguous",
    "behaviour|colours?|grey|labelled|modelled|neighbours?": "its American spelling",
}
IMPORT = re.compile(r"\s*(?:from|import)\s")


def prose(path):
    """Markdown; of a page its Markdown cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = re.split(r"^# %%", text, flags=re.MULTILINE)
    return "\n".join(cell for cell in cells if cell.startswith(" [markdown]"))


def private_words(text, terms):
    """Those that a text has, with the term to write instead."""
    return {word: term for word, term in terms.items() if re.search(rf"\b(?:{word})\b", text)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_readers_meet_the_fields_terms(path):
    text = " ".join(prose(path).replace("\n#", "\n").split())
    assert private_words(text, TERMS) == {}


def test_code_that_was_rewritten_stays_so():
    texts = {path: path.read_text(encoding="utf-8").splitlines() for path in REWRITTEN}
    text = {path: "\n".join(line for line in lines if not IMPORT.match(line)) for path, lines in texts.items()}
    assert {path.name: found for path in REWRITTEN if (found := private_words(text[path], GONE_FROM_THESE))} == {}
