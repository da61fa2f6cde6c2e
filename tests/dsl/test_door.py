"""What the DSLs do not document is named in tutorlib/dsl/ and a few modules of the course, and nowhere else."""

import ast
from importlib import import_module
from types import ModuleType

import pytest

from tests.dsl.names import DOCUMENTED, read, said_of_the_dsls, strings
from tests.dsl.private import PRIVATE
from tutorlib.paths import ROOT

PACKAGE = ROOT / "tutorlib"
COURSE = (  # what the course alone takes of the DSLs
    "checking/compile_calls.py",
    "half_precision.py",
    "notebook/stages.py",
)
DOOR = [*sorted((PACKAGE / "dsl").rglob("*.py")), *(PACKAGE / name for name in COURSE)]
OUTSIDE = [file for file in sorted(PACKAGE.rglob("*.py")) if file not in DOOR]


def test_nothing_outside_names_what_the_dsls_do_not_document():
    found = {
        f"{file.relative_to(ROOT)}:{said.line}": said.name for file in OUTSIDE for said in said_of_the_dsls(read(file))
    }
    assert found == {}


def test_nothing_outside_has_a_private_name_in_a_string():
    """For getattr, or to replace it."""
    known = {name.split(".")[-1] for names in PRIVATE.values() for name in names}
    private = {name for name in known if name.startswith("_") and not name.startswith("__")}
    found = {
        f"{file.relative_to(ROOT)}:{line}": text
        for file in OUTSIDE
        for text, line in strings(read(file))
        if text in private
    }
    assert found == {}


@pytest.mark.parametrize(
    "code",
    [
        "from cutlass._mlir import ir",
        "import cutlass.base_dsl.dsl",
        "def f():\n    from cutlass.cutlass_dsl import CuTeDSL",
        "from cutlass.cute.runtime import _Tensor",
        "x = kernel._pyfunc",
        "x = compiled.ir_module",
        "module = sys.modules['cutlass._mlir.ir']",
        "import cuda.tile as ct\nmock.patch.object(ct, 'launch', f)",
        "from cutlass import cute\nmock.patch.multiple(cute.arch, barrier=f)",
    ],
)
def test_such_a_name_is_found(code):
    assert list(said_of_the_dsls(code))


@pytest.mark.parametrize(
    "code",
    [
        "from cutlass import cute\ncute.compile(f)",
        "import cuda.tile as ct\nct.launch(s, g, k, ())",
        '"""cutlass._mlir is theirs."""',
        "self._kept = os._exit",
        "mock.patch.object(torch.cuda, 'synchronize')",
    ],
)
def test_what_is_documented_or_another_librarys_is_not(code):
    assert not list(said_of_the_dsls(code))


def test_no_undocumented_module_comes_under_a_documented_ones_name():
    """As `from cutlass.cute import core` would bring one."""
    found = {}
    for file in OUTSIDE:
        for module, name, line in imported_names(read(file)):
            value = getattr(import_module(module), name, None)
            if isinstance(value, ModuleType) and value.__name__ not in DOCUMENTED:
                found[f"{file.relative_to(ROOT)}:{line}"] = value.__name__
    assert found == {}


def imported_names(source):
    """(module, name, line) of each `from module import name`, of the DSLs' documented modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in DOCUMENTED:
            yield from ((node.module, each.name, node.lineno) for each in node.names)
