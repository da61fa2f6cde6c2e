"""Each attack of tests/cheats/ is one: what it imports, patches and asks for exists, so that it gets to its point."""

import ast
import builtins
import importlib
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.strangers import KINDS, cheats
from tutorlib.notebook import check

CHEATS = [cheat for kind in KINDS for cheat in cheats(kind)]
VARIABLES = {check.RESULTS, check.JUDGED_OUTSIDE}
OF_THE_TRIAL = "tutorlib.exercises.p60"  # is there where cheats are graded


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Any]]:
    """Each name that a statement binds, and what it is. Raises ImportError, AttributeError."""
    if isinstance(node, ast.ImportFrom):
        module = importlib.import_module(node.module or "")
        for alias in node.names:
            if not hasattr(module, alias.name):
                importlib.import_module(f"{node.module}.{alias.name}")
            yield alias.asname or alias.name, getattr(module, alias.name)
        return
    for alias in node.names:
        module, first = importlib.import_module(alias.name), alias.name.partition(".")[0]
        yield (alias.asname, module) if alias.asname else (first, importlib.import_module(first))


def amiss(text: str) -> list[str]:
    """What of the modules and classes that a text imports is not there."""
    tree, names, found = ast.parse(text), {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            try:
                names |= dict(imported(node))
            except (ImportError, AttributeError) as error:
                found.append(str(error))

    def value_of(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return names.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(value_of(node.value), node.attr, None)
        return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(whose := value_of(node.value), ModuleType | type):
            hides = isinstance(node.ctx, ast.Store) and hasattr(builtins, node.attr)  # a module's `type`, say
            if not (hasattr(whose, node.attr) or hides):
                found.append(f"{whose.__name__} has no {node.attr}")
    told = set(re.findall(r"TUTORLIB_\w+", text)) - VARIABLES
    return found + [f"no variable is called {name}" for name in sorted(told)]


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_what_an_attack_reaches_for_is_there(cheat):
    assert [line for line in amiss(cheat.text) if OF_THE_TRIAL not in line] == []


def test_a_name_that_is_gone_is_seen():
    gone = "from tutorlib.grading import remote_judge as judge\njudge.sealed = lambda: judge.pickle.dumps(0)"
    assert amiss(gone) == ["tutorlib.grading.remote_judge has no sealed", "tutorlib.grading.remote_judge has no pickle"]
    assert amiss("from tutorlib import nobody")
    assert amiss("import os\nos.environ['TUTORLIB_RESULT']") == ["no variable is called TUTORLIB_RESULT"]
    assert amiss("from tutorlib.checking import values\nvalues.type = None") == []
