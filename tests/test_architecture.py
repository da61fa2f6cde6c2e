"""The house as a whole: imports point downwards, cost nothing and make no cycle; a public name means one thing."""

import ast
import subprocess
import sys
from collections import defaultdict
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
        ("tutorlib.compiling.cute", ()),
        ("tutorlib.dsl.cutile.kernels", ()),
        ("tutorlib.compiling.cutile", ()),
        ("tutorlib.compiling.cpp", ()),
        ("tutorlib.layouts.oracle", ("tensor_layouts",)),
        ("tutorlib.notebook.measured", ()),
        ("tutorlib.exercises.n16_fusion.exercises", ()),  # whoever grades looks at the exercises of every page
        ("tutorlib.grading.page_process", ("tensor_layouts",)),  # each page that is graded imports it
    ],
)
def test_importing_a_module_imports_nothing_heavy(module, may):
    code = f"import sys, {module}; print(*sorted({set(HEAVY)!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= set(may)


# Names ----------------------------------------------------------------------------------------------------------

# A name that several modules give to something public, and why that is no confusion.
SEVERAL = {
    "Answer": "what an exercise is given; what the real CuTe says",
    "Names": "notebooks on the command line; a dtype's names",
    "Block": "of attention; of Blackwell's GEMM",
    "Operand": "a tensor of a problem; of a PTX instruction",
    "Order": "the same thing, with a block that a kernel or that Python knows",
    "State": "an exercise's, for the reader; a simulated batch's",
    "Step": "of a pipeline model; a PTX instruction, bound to a batch",
    "Tile": "a tile's coordinate in C; a tile's extents in a figure",
    "Steps": "what a main loop is made of, of each generation's GEMM",
    "Fusion": "what an epilogue does besides rounding, of each generation's GEMM",
    "Accumulators": "what an epilogue works on, of each generation's GEMM",
    "attention_backward": "torch's operator; a sweep of its speed",
    "levered": "a configuration with these levers, of the GEMM, of attention",
    "scores": "Q Kᵀ, of torch tensors; of a cuTile kernel's tile",
    "build": "read with its module: build.build, contents.build, readme.build, cpp.build",
    "count": "what ncu counts; words for a number",
    "gelu": "an epilogue's function; the problem that exercises set",
    "gemm": "of torch tensors, self-configuring; the problem that exercises set",
    "gemm_kernel": "of each generation's GEMM",
    "gemm_models": "a figure has the name of the sweep that it draws",
    "load_tiles": "the producer's loop, of Hopper's GEMM, of attention",
    "current_stream": "torch's, of the GPU at hand; of a matrix's GPU",
    "linear": "torch's operator; one of the broken kernels",
    "linear_swiglu": "of torch tensors; the problem that exercises set",
    "load": "read with its module: targets.load, submission.load, driver.load",
    "main": "of a module that runs as a process",
    "make_fused": "of each generation: the host function with an epilogue",
    "make_gemm": "of each generation: the host function for a configuration",
    "make_mma": "of each generation: mma.sync's, WGMMA's",
    "multiply": "a stage's wgmmas; a layer's product, of torch tensors",
    "multiply_tiles": "of Hopper's two roles, of Blackwell's three",
    "need_gpu": "the command line's says so and ends the command",
    "Parts": "of notebook 13's kernel, of notebook 14's",
    "pass_turn": "of Hopper's two ping-pongs: the GEMM's, attention's",
    "plain": "a cuTile kernel; text without marks; a value without NumPy",
    "produce_tiles": "of each generation: the producer's loop over its tiles",
    "read": "read with its module: timeline.read",
    "report": "of this machine, for `tutor doctor`; of what page 16's layers leave to torch",
    "Report": "of a simulated launch; of all the launches of a host function",
    "simulate": "a launch of PTX; a kernel of any language",
    "record": "read with its module: launches.record, witness.record, progress.record",
    "row": "of the hardware table; of the table of contents",
    "run": "read with its module: execute.run, run.run",
    "save": "read with its module: registry.save, targets.save",
    "smem_layout": "of each generation's GEMM",
    "table": "read with its module: readme.table, contents.table",
    "Schedule": "the tiles of a Hopper GEMM; attention's modeled in time",
    "take_turn": "of Hopper's two ping-pongs",
}
# answers' names, and those of cuTile's own language and of PTX's instructions
ELSEWHERE = ("exercises", "simulate/cutile", "simulate/ptx/opcodes")


def definitions(file: Path) -> Iterator[str]:
    """The public functions, classes and types of a module; constants are its own settings, commands the user's."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                command = any(ast.unparse(decorator) == "app.command()" for decorator in node.decorator_list)
                names = [] if command else [node.name]
            case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
                names = [name] if name[:1].isupper() and not name.isupper() else []
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def test_a_public_name_means_one_thing():
    places = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        module = file.relative_to(PACKAGE).as_posix()
        if not module.startswith(ELSEWHERE):
            for name in definitions(file):
                places[name].append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1 and name not in SEVERAL} == {}


def test_no_name_is_excused_in_vain():
    files = [file for file in PACKAGE.rglob("*.py") if not file.relative_to(PACKAGE).as_posix().startswith(ELSEWHERE)]
    named = [name for file in files for name in definitions(file)]
    assert {name for name in SEVERAL if named.count(name) < 2} == set()


# The course's own kernels and the solutions' ----------------------------------------------------------------------

LADDER = {  # notebook that shows it first → the course's own
    "09": [*sorted((PACKAGE / "kernels" / "ampere").glob("*.py")), PACKAGE / "kernels" / "ladder.py"],
    "13": [PACKAGE / "kernels" / "hopper" / "first_parts.py"],
    "14": [PACKAGE / "kernels" / "hopper" / "parts.py"],
}
OTHERS = ("store",)  # the course's compares nothing where tiles divide C, and page 09's always does
HOPPER = ("ring_layout", "boxes", "wgmma_fragments", "multiply", "init_barriers", "fill_stage", "one_stage")
HOPPER += ("main_loop", "store_by_tma")
PERSISTENT = (
    *("take_roles", "produce_tiles", "consume_tiles", "store_pieces"),
    *("load_shared", "free_stage", "give_part", "add_part"),
)


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
    first = ("smem_layout", "single_buffer", "make_copy_g2s", "make_mma", "make_operands", "load", "fetch", "multiply")
    ampere = {("09", name) for name in first} | {("12", "multistage")}
    hopper = {("13", name) for name in HOPPER} | {("14", name) for name in PERSISTENT}
    assert {(notebook, name) for (_, name), notebook in compared.items()} == ampere | hopper
