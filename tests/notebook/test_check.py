"""`check` and `hint`."""

import subprocess
import sys
from collections import Counter

import pytest
from cutlass import cute
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbconvert import HTMLExporter
from nbformat import v4

from tutorlib import CheckFailed, check, explain, hint
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.models.memory import bank, bank_group
from tutorlib.notebook.check import JUDGED_OUTSIDE
from tutorlib.notebook.explain import show_source

pytestmark = pytest.mark.usefixtures("trial", "first_time")
PASSED = "✓ 90.1 answer: 2 points\n"


@pytest.fixture
def first_time(monkeypatch):
    """Nobody has failed or asked for a hint."""
    module = sys.modules[check.__module__]
    monkeypatch.setattr(module, "_failures", Counter())
    monkeypatch.setattr(module, "_hints_shown", Counter())
    monkeypatch.setattr(module, "_remedies", {})


def right(n):
    return n + 1


def test_check_prints_or_raises_without_a_traceback(capsys):
    check("90.1", right)
    assert capsys.readouterr().out == PASSED
    with pytest.raises(CheckFailed) as error:
        check("90.1", lambda n: n)
    assert error.value._render_traceback_() == str(error.value).splitlines()


def test_what_a_right_answer_prints_is_dropped_and_what_a_wrong_one_prints_is_shown(capsys):
    def noisy(n):
        print("n is", n)
        return n + 1

    def noisy_and_wrong(n):
        print("n is", n)
        return 0

    def noisy_for_long(n):
        print("x" * 10**5)
        return n + 1

    check("90.1", noisy)
    assert capsys.readouterr().out == PASSED
    check("90.1", noisy_for_long)
    assert capsys.readouterr().out == PASSED
    with pytest.raises(CheckFailed, match="It printed:\n    n is 0"):
        check("90.1", noisy_and_wrong)


def failure_of(id, answer):
    with pytest.raises(CheckFailed) as error:
        check(id, answer)
    return str(error.value)


SHOWN = '  Hint: Large numbers add alike.\n  More hints: from tutorlib import hint; hint("90.2")'


def test_from_the_second_failure_on_a_check_shows_the_hint_for_what_went_wrong(capsys):
    def wrong_when_large(n):
        return n + 2 if n < 10 else n

    assert "hint" not in failure_of("90.2", wrong_when_large).lower()
    assert failure_of("90.2", wrong_when_large).endswith(SHOWN)
    hint("90.2")
    hint("90.2")
    assert capsys.readouterr().out.splitlines() == [
        "About your last attempt: Large numbers add alike.",
        "Hint 1 of 3: Add.",
    ]


def test_hints_come_in_tiers_and_the_last_one_stays(capsys):
    for _ in range(4):
        hint("90.3")
    assert capsys.readouterr().out.splitlines() == [
        "Hint 1 of 3: Add.",
        "Hint 2 of 3: Add a number.",
        "Hint 3 of 3: n + 3",
        "Hint 3 of 3: n + 3",
    ]


def test_in_a_kernel_a_failed_check_shows_its_message_alone():
    code = (
        "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance();"
        "s.run_cell('from tutorlib import check\\ncheck(\"00.1\", lambda n, tile: n // tile)')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "✗ 00.1 ceil_div" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_while_another_process_judges_nothing_is_looked_up(monkeypatch, capsys):
    """The exercises may not be there: what a page or an answer calls prints a line."""
    monkeypatch.setenv(JUDGED_OUTSIDE, "90.1")
    monkeypatch.setattr(sys.modules[check.__module__], "find", lambda id: pytest.fail("an exercise was looked up"))
    for id in ("90.1", "90.2"):
        check(id, None)
        hint(id)
        assert explain(id, None) is None
    lines = capsys.readouterr().out.splitlines()
    assert [line[:17] for line in lines] == [f"{id} is handed in" for id in ("90.1",) * 3 + ("90.2",) * 3]


def test_code_is_code_in_a_notebook_and_in_an_exported_page():
    InteractiveShell.instance()
    with capture_output() as shown:
        show_source(bank, bank_group)
    (output,) = shown.outputs
    assert "\n```python\ndef bank(offset: int" in output.data["text/markdown"]
    cell = v4.new_code_cell(
        "", outputs=[v4.new_output("display_data", {"text/markdown": output.data["text/markdown"]})]
    )
    page, _ = HTMLExporter().from_notebook_node(v4.new_notebook(cells=[cell]))
    monospaced, _, code = page.partition('<div class="highlight"><pre>')
    assert code
    assert monospaced.rstrip().endswith('monospace)">')  # of the element around it
    assert "bank_group" in page


@cute.kernel
def doubling(x: cute.Tensor):
    x[0] = 2 * x[0]


@cute.jit
def doubled(x: cute.Tensor):
    doubling(x).launch(grid=(1, 1, 1), block=(1, 1, 1))


def test_the_code_of_a_compiled_function_has_its_decorator():
    compile_cute(doubled, [TensorSpec((4,), "fp32")])
    with capture_output() as shown:
        show_source(doubled, doubling)
    (output,) = shown.outputs
    assert "\n```python\n@cute.jit\ndef doubled(" in output.data["text/markdown"]
    assert "\n@cute.kernel\ndef doubling(" in output.data["text/plain"]
