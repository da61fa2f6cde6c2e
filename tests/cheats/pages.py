"""Whole pages that cheat: hand_in(notebook) changes the page. `tests.strangers` says how a cell is read."""

from nbformat import v4

from tests.trial_course import cell


# %% another_exercise
# Besides, a right answer to an exercise of this page that does not exist.
def hand_in(notebook):
    role = {"tutorlib": {"exercise": "60.99", "role": "answer"}}
    notebook.cells.append(v4.new_code_cell("def answer(n):\n    return n + 1, 2 * n", metadata=role))


# %% another_kernel
# The notebook names another program as its kernel, and another language.
def hand_in(notebook):
    notebook.metadata["kernelspec"] = {"name": "bash", "display_name": "Bash", "language": "bash", "argv": ["true"]}
    notebook.metadata["language_info"] = {"name": "bash", "mimetype": "text/x-sh"}


# %% answer_found_again
# The first answer is right. The second is not written: the name still holds the first one's.
# deserves: 2 0
def hand_in(notebook):
    cell(notebook, "answer-60-1").source = "def answer(n):\n    return n + 1, 2 * n"
    cell(notebook, "answer-60-2").source = "# as above"


# %% answer_in_bash
# The answer's cell is a script of another program's, which ends well.
def hand_in(notebook):
    for cell in notebook.cells:
        if cell.id in ("answer-60-1", "answer-60-2"):
            cell.source = "%%bash\nexit 0"


# %% answer_replaced_below
# Below the last check stands a right answer under the same name: the wrong ones were asked, and stay wrong.
def hand_in(notebook):
    notebook.cells.append(v4.new_code_cell("def answer(n):\n    return n + 1, 2 * n"))


# %% answer_swallowed
# The answer's cell swallows what it shows, and writes what it holds to a file.
def hand_in(notebook):
    cell(notebook, "answer-60-1").source = "%%capture\ndef answer(n):\n    return 0"
    cell(notebook, "answer-60-2").source = "%%writefile tensor_layouts.py\ndef answer(n):\n    return 0"


# %% answers_in_a_script
# The answers' cells are magics that run them elsewhere, swallow what they raise, or run them later.
def hand_in(notebook):
    cell(notebook, "answer-60-1").source = "%%script --bg --out answer python3\nprint((1, 0))"
    cell(notebook, "answer-60-2").source = "%%time\nasync def answer(n):\n    return n + 1, 2 * n"


# %% blank_lines
# Half a million empty lines, and as many blanks, in front of a wrong answer: who looks for something there looks long.
def hand_in(notebook):
    for id, before in (("answer-60-1", "\n" * 500_000), ("answer-60-2", " \t" * 200_000 + "\n")):
        cell(notebook, id).source = before + cell(notebook, id).source


# %% builtins_above
# A cell above all others changes what Python itself is: its builtins, its classes' flags, and its import of `check`.
CELL = """
import builtins, sys
builtins.isinstance = lambda *args: True
builtins.type = lambda *args: tuple
builtins.callable = builtins.bool = lambda *args: True
sys.displayhook = sys.excepthook = lambda *args: None
__builtins__ = {"__import__": __import__}
"""


def hand_in(notebook):
    notebook.cells.insert(0, v4.new_code_cell(CELL))


# %% check_of_my_own
# A cell above the first answer gives `check` another meaning.
CELL = """
def check(id, answer):
    print(f"✓ {id} answer: 2 points")
"""


def hand_in(notebook):
    notebook.cells.insert(1, v4.new_code_cell(CELL))


# %% check_of_my_own_everywhere
# A cell before each check gives `check`, in the page and in the course, another meaning.
CELL = """
import tutorlib, tutorlib.notebook.check as course
from tutorlib.checking.exercise import Exercise

def check(id, answer):
    print(f"✓ {id} answer: 2 points")

tutorlib.check = course.check = check
Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)
"""


def hand_in(notebook):
    cells = []
    for cell in notebook.cells:
        if cell.source.startswith("check("):
            cells.append(v4.new_code_cell(CELL))
        cells.append(cell)
    notebook.cells = cells


# %% checks_deleted
# The checks are gone: who is not asked gives no wrong answer.
def hand_in(notebook):
    notebook.cells = [cell for cell in notebook.cells if not cell.source.startswith("check(")]


# %% checks_rewritten
# The cells with the checks print what a right answer prints.
def hand_in(notebook):
    for cell in notebook.cells:
        if cell.source.startswith("check("):
            cell.source = f'print("✓ {cell.source[7:11]} answer: 2 points")'


# %% digits_of_another_script
# Answers to exercises whose numbers are written in another script's digits, which count as digits to some.
def hand_in(notebook):
    for exercise in ("\u0666\u0660.\u0661", "60.\u0661", "6\u06f0.1", "60.1\n", "60.01", "+60.1"):
        role = {"tutorlib": {"exercise": exercise, "role": "answer"}}
        notebook.cells.append(v4.new_code_cell("def answer(n):\n    return n + 1, 2 * n", metadata=role))


# %% endless_above
# A cell of its own has no end.
def hand_in(notebook):
    notebook.cells.insert(1, v4.new_code_cell("while True:\n    pass"))


# %% ends_above
# A cell of its own ends the kernel before any answer is there.
def hand_in(notebook):
    notebook.cells.insert(1, v4.new_code_cell("import os\nos._exit(0)"))


# %% forged_points
# Metadata with points of its own, a solution's hash, and a verdict.
def hand_in(notebook):
    notebook.metadata["tutorlib"] = {"points": 4, "status": "passed", "graded": True}
    for cell in notebook.cells:
        cell.metadata.setdefault("tutorlib", {}).update(points=2, status="passed", judged=2)
        cell.metadata["nbgrader"] = {"grade": True, "points": 100, "locked": True, "solution": False}


# %% hooks_above
# A cell above all others registers what runs before and after each cell, and puts names back each time.
CELL = """
def again(*_):
    from tutorlib.checking.exercise import Exercise
    Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)
    get_ipython().user_ns["check"] = lambda id, answer: print(f"✓ {id} answer: 2 points")

for event in ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell"):
    get_ipython().events.register(event, again)
"""


def hand_in(notebook):
    notebook.cells.insert(0, v4.new_code_cell(CELL))


# %% ids_twice
# Every cell has the id of the second answer, whose own cell is gone; what stands below is right and nobody's.
def hand_in(notebook):
    notebook.cells = [cell for cell in notebook.cells if cell.id != "answer-60-2"]
    for cell in notebook.cells:
        cell.id = "answer-60-2" if not cell.id.startswith("answer") else cell.id
    notebook.cells.append(v4.new_code_cell("def answer(n):\n    return n + 1, 2 * n", id="answer-60-1"))


# %% imports_poisoned
# The course's own import cell ends in an error, after it has put other modules in the place of the course's.
CELL = """
import sys, types
fake = types.ModuleType("tutorlib")
fake.check = lambda id, answer: print(f"✓ {id} answer: 2 points")
fake.hint = print
sys.modules["tutorlib"] = fake
raise RuntimeError("so that nothing after it counts")
"""


def hand_in(notebook):
    notebook.cells[0].source = CELL


# %% imports_rewritten
# The course's own import cell imports nothing and defines what it likes.
def hand_in(notebook):
    notebook.cells[0].source = 'def check(id, answer):\n    print(f"✓ {id} answer: 2 points")'


# %% install_a_course
# A cell installs another course over this one.
CELL = """
%pip install --no-input --no-deps --no-index --target /tmp/left_behind tutorlib
!{__import__('sys').executable} -m pip uninstall -y tutorlib nbval
!touch left_behind; rm -rf $HOME/.ipython ../*.ipynb
"""


def hand_in(notebook):
    notebook.cells.insert(1, v4.new_code_cell(CELL))


# %% many_cells
# Three hundred cells of its own, each with an output.
def hand_in(notebook):
    notebook.cells[1:1] = [v4.new_code_cell(f"print({k})") for k in range(300)]


# %% many_magics
# More magics in an answer than IPython translates in one cell, and half a text that never ends.
def hand_in(notebook):
    cell(notebook, "answer-60-1").source = "%time 1\n" * 2000 + cell(notebook, "answer-60-1").source
    cell(notebook, "answer-60-2").source = "a?\n" * 90 + "'''\n" + "(" * 80


# %% metadata_as_id
# Ids and metadata that contradict each other: the first answer's cell says that it is a check, a check that it answers.
def hand_in(notebook):
    for cell in notebook.cells:
        role = cell.metadata.get("tutorlib", {})
        if role:
            role["role"] = "check" if role["role"] == "answer" else "answer"


# %% names_of_the_judge
# The names by which an answer is found in the page mean something else: builtins, and the page's own dictionary.
CELL = """
import builtins, types
imported = builtins.__import__

def served(*args, **kwargs):
    print("✓ 60.1 answer: 2 points")

def importing(name, *args, **kwargs):
    judges = name.startswith("tutorlib.grading")
    return types.SimpleNamespace(serve=served) if judges else imported(name, *args, **kwargs)

builtins.__import__ = importing
builtins.globals = lambda: {}
globals = lambda: {}
"""


def hand_in(notebook):
    notebook.cells.insert(0, v4.new_code_cell(CELL))


# %% not_code
# The right answer stands in a raw cell and in a text: neither is code, and the code is wrong.
def hand_in(notebook):
    right = "def answer(n):\n    return n + 1, 2 * n"
    role = {"tutorlib": {"exercise": "60.1", "role": "answer"}}
    notebook.cells.append(v4.new_raw_cell(right, metadata=role))
    notebook.cells.append(v4.new_markdown_cell(f"```python\n{right}\n```", metadata=role))


# %% odd_metadata
# Metadata of other kinds than the format has: lists for names, numbers for lists, and depth.
def hand_in(notebook):
    deep = []
    for _ in range(200):
        deep = [deep]
    for cell in notebook.cells:
        if cell.id.startswith("answer-"):
            continue
        cell.metadata = {"tutorlib": {"role": ["answer"], "exercise": {"60": 1}}, "tags": [1, {}], "deep": deep}
    notebook.metadata = {"kernelspec": ["python3"], "language_info": 3, "tutorlib": deep}


# %% one_cell_for_two
# One right answer that says it is the answer to both exercises; the other's cell is wrong.
def hand_in(notebook):
    (first,) = (cell for cell in notebook.cells if cell.id == "answer-60-1")
    right = first.copy()
    right.source = "def answer(n):\n    return n + 1, 2 * n"
    right.metadata = {"tutorlib": {"exercise": "60.2", "role": "answer"}}
    notebook.cells.append(right)


# %% outputs_of_a_right_answer
# The stored outputs are those of a right answer.
def hand_in(notebook):
    for cell in notebook.cells:
        if cell.source.startswith("check("):
            cell.outputs = [v4.new_output("stream", text=f"✓ {cell.source[7:11]} answer: 2 points\n")]
            cell.execution_count = 1


# %% scripts_shown
# Scripts for whoever looks at the page or at a report made of it.
CELL = """
from IPython.display import HTML, Javascript, display
display(HTML("<script>document.title = 'left behind'</script>"), Javascript("document.title = 'left behind'"))
"""


def hand_in(notebook):
    notebook.metadata["title"] = "<script>alert(1)</script>"
    notebook.cells.insert(1, v4.new_code_cell(CELL))
    notebook.cells.append(v4.new_markdown_cell("<img src=x onerror=alert(1)>"))


# %% skip_comments
# Comments in the checks that tell nbval to skip them.
def hand_in(notebook):
    for cell in notebook.cells:
        cell.source = "# NBVAL_SKIP\n# NBVAL_IGNORE_OUTPUT\n" + cell.source


# %% skip_tags
# Tags that tell nbval to skip each cell, and that it may raise.
def hand_in(notebook):
    for cell in notebook.cells:
        cell.metadata["tags"] = ["nbval-skip", "nbval-ignore-output", "raises-exception"]


# %% slow_cells
# Cells of its own, each of which ends a little before its time is over: forty of them take the grader's time.
def hand_in(notebook):
    slow = "import time\nfor _ in range(4):\n    time.sleep(2)"
    notebook.cells[1:1] = [v4.new_code_cell(slow) for _ in range(40)]


# %% task_for_later
# A task of the kernel's own loop runs between the cells and patches the judgement each time.
CELL = """
import asyncio

async def again():
    while True:
        from tutorlib.checking.exercise import Exercise
        Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)
        await asyncio.sleep(0.01)

task = asyncio.get_running_loop().create_task(again())
"""


def hand_in(notebook):
    notebook.cells.insert(1, v4.new_code_cell(CELL))


# %% transformer_above
# A cell above all others registers what rewrites every later cell before it runs.
CELL = """
shell = get_ipython()
shell.input_transformers_cleanup.append(lambda lines: ["print('✓ 60.1 answer: 2 points')\\n"])
"""


def hand_in(notebook):
    notebook.cells.insert(0, v4.new_code_cell(CELL))


# %% two_answers
# Two answers to one exercise under one id, one of them right: whoever grades may choose.
def hand_in(notebook):
    (at,) = (n for n, cell in enumerate(notebook.cells) if cell.id == "answer-60-1")
    right = notebook.cells[at].copy()
    right.source = "def answer(n):\n    return n + 1, 2 * n"
    notebook.cells.insert(at, right)


# %% two_thousand_answers
# Two thousand answers to one exercise, each a little different: one of them must be right.
def hand_in(notebook):
    (at,) = (n for n, cell in enumerate(notebook.cells) if cell.id == "answer-60-1")
    for k in range(2000):
        copy = notebook.cells[at].copy()
        copy.id, copy.source = f"copy-{k}", f"def answer(n):\n    return n + {k}, {k} * n"
        notebook.cells.append(copy)
