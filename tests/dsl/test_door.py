"""What the DSLs do not document is named in tutorlib/dsl/ and a few modules of the course, and nowhere else."""

import pytest

from tests.dsl.names import undocumented
from tutorlib.paths import ROOT

PACKAGE = ROOT / "tutorlib"
COURSE = (  # what the course alone takes of the DSLs
    "checking/compile_calls.py",
    "half_precision.py",
    "notebook/launches.py",
)
DOOR = [*sorted((PACKAGE / "dsl").rglob("*.py")), *(PACKAGE / name for name in COURSE)]


def test_nothing_outside_names_what_the_dsls_do_not_document():
    outside = (file for file in sorted(PACKAGE.rglob("*.py")) if file not in DOOR)
    said = {str(file.relative_to(ROOT)): undocumented(file.read_text(encoding="utf-8")) for file in outside}
    assert {file: names for file, names in said.items() if names} == {}


@pytest.mark.parametrize(
    "code",
    [
        "from cutlass._mlir import ir",
        "def f():\n    from cutlass.cutlass_dsl import CuTeDSL",
        "from cutlass.cute.runtime import _Tensor",
        "x = kernel._pyfunc",
        "x = compiled.ir_module",
        "module = sys.modules['cutlass._mlir.ir']",
    ],
)
def test_such_a_name_is_found(code):
    assert undocumented(code)


def test_what_is_documented_or_another_librarys_is_not():
    assert not undocumented("from cutlass import cute\ncute.compile(f)\nself._kept = os._exit")
