"""Oddities of honest hand-ins: each has full points. In an answer's cell, around it, and in the file."""

import json
from pathlib import Path

import nbformat
from nbformat import NotebookNode, v4

from tests.trial_course import cell

# In the cell of an answer --------------------------------------------------------------------------------------------

PLAIN = "def answer(n):\n    return n + 1, 2 * n"


def below(text: str) -> str:
    """The plain answer, and below it in the same cell this."""
    return f"{PLAIN}\n\n\n{text}"


def above(text: str) -> str:
    """This, and below it in the same cell the plain answer."""
    return f"{text}\n\n\n{PLAIN}"


def inside(text: str) -> str:
    """The plain answer, which does this first."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f"def answer(n):\n{lines}    return n + 1, 2 * n"


FORMS = {
    "a lambda": "answer = lambda n: (n + 1, 2 * n)",
    "type hints": "from typing import Any\n\n\ndef answer(n: int) -> tuple[int, Any]:\n    return n + 1, 2 * n",
    "functools.cache": f"import functools\n\n\n@functools.cache\n{PLAIN}",
    "a decorator that wraps": (
        "from functools import wraps\n\n\ndef traced(f):\n    @wraps(f)\n    def g(*args):\n        return f(*args)\n\n"
        f"    return g\n\n\n@traced\n{PLAIN}"
    ),
    "an object that is called": (
        "class Answer:\n    def __init__(self, step):\n        self.step = step\n\n"
        "    def __call__(self, n):\n        return n + self.step, 2 * n\n\n\nanswer = Answer(1)"
    ),
    "a partial": "from functools import partial\n\n\ndef pair(step, n):\n    return n + step, 2 * n\n\n\nanswer = partial(pair, 1)",
    "from text": f"exec({PLAIN!r})",
    "unicode names": "def answer(größe):\n    π, 二 = größe + 1, 2 * größe\n    return π, 二",
    "tabs": "def answer(n):\n\tm = n + 1\n\treturn m, 2 * n",
    "carriage returns": "def answer(n):\r\n    return n + 1, 2 * n\r\n",
    "the placeholder left": "def answer(n):\n    # YOUR CODE HERE (about 1 line)\n    return n + 1, 2 * n\n    raise NotImplementedError('Exercise 60.1')",
    "a name out of a dictionary": "globals()['answer'] = lambda n: (n + 1, 2 * n)",
    "under a condition": f"if True:\n    {PLAIN}".replace("\n    return", "\n        return"),
    "an async helper": "async def pair(n):\n    return n + 1, 2 * n\n\n\ndef answer(n):\n    try:\n        pair(n).send(None)\n    except StopIteration as end:\n        return end.value",
    "ten thousand empty lines": "\n" * 10_000 + PLAIN,
}
NUMBERS = {
    "NumPy's numbers": "import numpy as np\n\n\ndef answer(n):\n    return np.int64(n + 1), np.int64(2 * n)",
    "an array": "import numpy as np\n\n\ndef answer(n):\n    return np.array([n + 1, 2 * n])",
    "torch's numbers turned plain": "import torch\n\n\ndef answer(n):\n    return int(torch.tensor(n) + 1), (2 * torch.tensor(n)).item()",
}
SHOWS = {
    "prints when called": inside("print('n is', n)"),
    "prints a check's line": inside("print('✓ 60.1 answer: 2 points')"),
    "warns": inside("import warnings\n\nwarnings.warn('n may be large')"),
    "a widget": below("import ipywidgets\n\nipywidgets.IntSlider()"),
    "a picture": below("import matplotlib.pyplot as plt\n\nplt.plot([answer(n)[1] for n in range(9)])\nplt.show()"),
    "a figure of the course": below("from tutorlib import show_layout\n\nshow_layout('(4,3):(1,4)')"),
    "help": below("help(answer)\nanswer?"),
}
MAGICS = {
    "%%time": f"%%time\n{PLAIN}",
    "%%capture": f"%%capture\n{PLAIN}",
    "%time": below("%time answer(3)"),
    "%matplotlib": above("%matplotlib inline"),
    "%env and %cd": above("%env STEP=1\n%cd -q /"),
    "a shell's line": above("!ls\nfiles = !ls /"),
    "pip": above("%pip install --quiet --no-index a-package-that-nobody-has\n!pip --version"),
    "%run": "!echo 'STEP = 1' > step.py\n%run step.py\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "question marks": "def answer(n):\n    return n + 1, 2 * n\n\n\nanswer??\n?answer\nlen?",
}
HABITS = {  # what leaves its folder comes last: others write to it
    "tests of its own": below("assert answer(1) == (2, 2)\nfor n in range(5):\n    assert answer(n)[1] == 2 * n"),
    "a hint asked for": above("from tutorlib import hint\n\nhint('60.1')"),
    "warnings are errors": above("import warnings\n\nwarnings.simplefilter('error')"),
    "files": inside("with open('scratch.txt', 'a') as file:\n    file.write(str(n))"),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\n\n\ndef answer(n):\n    with ThreadPoolExecutor(2) as pool:\n"
        "        return tuple(pool.map(lambda f: f(n), (lambda n: n + 1, lambda n: 2 * n)))"
    ),
    "another process": inside("import subprocess\n\nsubprocess.run(['true'], check=True)"),
    "await": "import asyncio\n\nawait asyncio.sleep(0)\n\n\n" + PLAIN,
    "global state": "calls = 0\nseen = {}\n\n\ndef answer(n):\n    global calls\n    calls += 1\n    return seen.setdefault(n, (n + 1, 2 * n))",
    "names of builtins taken": below("list = id = type = sum = max = 3"),
    "names of modules taken": below("json = os = sys = np = tutorlib = serve = result = _ = __ = 3"),
    "standard output swapped": above("import io\nimport sys\n\nsys.stdout = io.StringIO()"),
    "everything imported": above("from math import *\nfrom os.path import *"),
    "torch's defaults": "import torch\n\ntorch.set_default_dtype(torch.float64)\ntorch.manual_seed(0)\ntorch.set_num_threads(1)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "matplotlib's style": "import matplotlib\nimport matplotlib.pyplot as plt\n\nmatplotlib.use('agg')\nplt.style.use('ggplot')\nplt.rcParams['figure.dpi'] = 300\nplt.xkcd()\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "a hook for exceptions": "import sys\n\nsys.excepthook = lambda *args: None\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "a check of its own name": "def answer(n):\n    return n + 1, 2 * n\n\n\ndef check(id, f):\n    assert f(1) == (2, 2)\n\n\ncheck('60.1', answer)",
    "another temporary folder": "import tempfile\n\ntempfile.tempdir = '/nobody/has/this'\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "files that nobody may read": "import os\n\nos.umask(0o777)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "a flat stack": "import sys\n\nsys.setrecursionlimit(150)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "an alarm": "def answer(n):\n    import signal\n    \n    if hasattr(signal, 'SIGALRM'):\n        signal.alarm(5)\n        signal.alarm(0)\n    return n + 1, 2 * n",
    "another folder": above("import os\n\nos.chdir('/')"),
    "a folder that is gone": above(
        "import os\nimport tempfile\n\nwith tempfile.TemporaryDirectory() as gone:\n    os.chdir(gone)"
    ),
}
ANSWERS = FORMS | NUMBERS | SHOWS | MAGICS | HABITS


# Around it: each function changes a page whose answers are right, and says what is odd -------------------------------

USES_HELPER = "def answer(n):\n    return following(n), 2 * n"
HELPER = "def following(n):\n    return n + 1"


def at(notebook: NotebookNode, id: str) -> int:
    return notebook.cells.index(cell(notebook, id))


def add(notebook: NotebookNode, source: str, before: str = "answer-60-1") -> None:
    """A code cell in front of the one with this id."""
    notebook.cells.insert(at(notebook, before), v4.new_code_cell(source))


def copied(notebook: NotebookNode, source: str) -> NotebookNode:
    """A copy of the first answer's cell as Jupyter makes it, metadata and all, with another text."""
    copy = v4.new_code_cell(source, metadata=cell(notebook, "answer-60-1").metadata)
    return copy


# Cells of one's own --------------------------------------------------------------------------------------------------


def helper_above(notebook):
    """A helper in a cell of its own."""
    add(notebook, HELPER)
    cell(notebook, "answer-60-1").source = USES_HELPER


def helper_between(notebook):
    """A helper between the first check and the second answer, which alone needs it."""
    add(notebook, HELPER, before="answer-60-2")
    cell(notebook, "answer-60-2").source = USES_HELPER


def import_in_the_courses_cell(notebook):
    """Imports and a constant in the course's own import cell."""
    notebook.cells[0].source += "\nimport numpy as np\n\nSTEP = 1"
    cell(notebook, "answer-60-1").source = "def answer(n):\n    return int(np.add(n, STEP)), 2 * n"


def module_written(notebook):
    """A module of its own, written by one cell and imported by the answer."""
    add(notebook, f"%%writefile my_helper.py\n{HELPER}\n")
    cell(notebook, "answer-60-1").source = f"from my_helper import following\n\n\n{USES_HELPER}"


def trials_around(notebook):
    """Cells that try things out, with results, prints and a picture."""
    add(notebook, "[2 * n for n in range(5)]")
    add(notebook, "answer(3)", before="answer-60-2")
    notebook.cells.append(v4.new_code_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2]);"))


def cell_that_fails(notebook):
    """A cell that failed and was left, before the answer and after it."""
    add(notebook, "1 / 0")
    add(notebook, "nobody(3)", before="answer-60-2")
    notebook.cells.append(v4.new_code_cell("raise SystemExit"))


def cell_that_is_not_python(notebook):
    """Notes in a cell of code, brackets left open, and another language."""
    add(notebook, "n + 1, and then 2 n (I think")
    add(notebook, "%%javascript\nelement.text('n')")
    add(notebook, "%no_such_magic\n%%no_such_magic")


def cell_that_asks(notebook):
    """A cell that asks for input, which nobody gives while it is graded."""
    add(notebook, "n = input('n? ')")


def empty_cells(notebook):
    """Empty cells, and cells of comments alone, everywhere."""
    for id in ("answer-60-1", "answer-60-2"):
        add(notebook, "", before=id)
        add(notebook, "# later", before=id)
    notebook.cells.append(v4.new_code_cell(""))


# Copies --------------------------------------------------------------------------------------------------------------


def split_with_a_new_half_below(notebook):
    """The answer's cell was split, and the half with the answer is new to the course."""
    (first,) = (one for one in notebook.cells if one.id == "answer-60-1")
    first.source = HELPER
    notebook.cells.insert(at(notebook, "answer-60-1") + 1, v4.new_code_cell(USES_HELPER))


def identical_copies(notebook):
    """Three times the same answer."""
    for _ in range(2):
        notebook.cells.append(copied(notebook, PLAIN))


# The page ------------------------------------------------------------------------------------------------------------


def notes_added(notebook):
    """Texts of its own, with a picture attached and a formula."""
    picture = {"x.png": {"image/png": "iVBORw0KGgo="}}
    notebook.cells.insert(0, v4.new_markdown_cell("# My notes\n![](attachment:x.png) $n+1$", attachments=picture))
    notebook.cells.append(v4.new_raw_cell("raw"))


def checks_deleted(notebook):
    """The checks were deleted."""
    notebook.cells = [one for one in notebook.cells if not one.source.startswith("check(")]


def checks_changed(notebook):
    """The checks were commented out, or have more in them."""
    for one in notebook.cells:
        if one.source.startswith('check("60.1"'):
            one.source = f"# {one.source}"
        elif one.source.startswith("check("):
            one.source = f"print('now:')\n{one.source}  # at last"


def other_order(notebook):
    """The second exercise stands above the first."""
    notebook.cells = [notebook.cells[0], *notebook.cells[3:], *notebook.cells[1:3]]


def cells_as_text(notebook):
    """A cell of the course's was turned into text."""
    for n, one in enumerate(notebook.cells):
        if one.source.startswith("check("):
            notebook.cells[n] = v4.new_markdown_cell(one.source)


def executed(notebook):
    """Everything was run, some of it often: counts, results and errors are stored."""
    for n, one in enumerate(notebook.cells):
        one.execution_count = [None, 0, 999, 3, 2**40][n % 5]
        one.outputs = [
            v4.new_output("stream", text="✗ 60.1 answer: 0 of 2 cases right\n"),
            v4.new_output("error", ename="CheckFailed", evalue="wrong", traceback=["\x1b[31mCheckFailed"]),
            v4.new_output("execute_result", data={"text/plain": "3", "application/x-unheard-of+json": {"a": []}}),
        ]


def megabytes_of_outputs(notebook):
    """5 MB of outputs."""
    notebook.cells[0].outputs = [v4.new_output("stream", text="x" * 99 + "\n") for _ in range(100)]
    notebook.cells[0].outputs.append(v4.new_output("display_data", data={"image/png": "A" * 5_000_000}))


# Where it was edited -------------------------------------------------------------------------------------------------


def metadata_gone(notebook):
    """A tool removed all metadata."""
    notebook.metadata = {}
    for one in notebook.cells:
        one.metadata = {}


def edited_in_colab(notebook):
    """Colab: no ids and no metadata but its own."""
    notebook.metadata = {"colab": {"provenance": [], "toc_visible": True}, "kernelspec": {"name": "python3"}}
    notebook.nbformat_minor = 0
    for n, one in enumerate(notebook.cells):
        del one["id"]
        one.metadata = {"id": f"Ab{n}xYz", "colab": {"base_uri": "https://localhost:8080/"}, "outputId": "7"}


def edited_in_vs_code(notebook):
    """VS Code: a language for each cell, and its own idea of the kernel."""
    notebook.metadata["kernelspec"] = {"display_name": ".venv (3.11)", "language": "python", "name": "venv"}
    notebook.metadata["language_info"] = {"name": "python", "version": "3.9.6", "pygments_lexer": "ipython3"}
    notebook.metadata["vscode"] = {"interpreter": {"hash": "31f2"}}
    for one in notebook.cells:
        one.metadata["vscode"] = {"languageId": "python"}


def answers_above_the_imports(notebook):
    """The answers' cells were moved above everything, the course's imports included."""
    notebook.cells.sort(key=lambda one: not one.id.startswith("answer-"))


def helper_below_its_check(notebook):
    """The second answer calls a helper that its own cell imports from the first: names found in `globals()`."""
    cell(notebook, "answer-60-1").source = f"{HELPER}\n\n\n{USES_HELPER}\n\n\nfirst = answer"
    cell(notebook, "answer-60-2").source = "answer = lambda n: globals()['first'](n)"


# Merged cells --------------------------------------------------------------------------------------------------------


def merge(notebook: NotebookNode, first: str, *others: str) -> NotebookNode:
    """As Jupyter merges cells: the first one keeps its place, its id and its metadata."""
    kept = cell(notebook, first)
    for id in others:
        gone = cell(notebook, id)
        kept.source += f"\n\n{gone.source}"
        notebook.cells.remove(gone)
    return kept


def answer_and_its_check(notebook):
    """An answer and its check in one cell."""
    merge(notebook, "answer-60-1", "check-60-1")


def two_answers_and_their_checks(notebook):
    """All of the page's exercises in one cell."""
    merge(notebook, "answer-60-1", "check-60-1", "answer-60-2", "check-60-2")


def the_whole_page(notebook):
    """The import, the answers and the checks in one cell."""
    merge(notebook, notebook.cells[0].id, "answer-60-1", "check-60-1", "answer-60-2", "check-60-2")


def a_check_and_the_next_answer(notebook):
    """The first exercise and the second answer in one cell; the second check has its own."""
    merge(notebook, "answer-60-1", "check-60-1", "answer-60-2")


def an_answer_in_the_check_s_cell(notebook):
    """The answer was merged into the check's cell from below: the cell that is left is the check's."""
    kept = cell(notebook, "check-60-1")
    kept.source = f"{cell(notebook, 'answer-60-1').source}\n\n{kept.source}"
    notebook.cells.remove(cell(notebook, "answer-60-1"))


def an_answer_in_a_new_cell(notebook):
    """The answer's cell is gone; a new one has the answer and the check."""
    place = notebook.cells.index(cell(notebook, "answer-60-1"))
    notebook.cells.insert(place, v4.new_code_cell(f"{PLAIN}\n\n\ncheck('60.1', answer)"))
    notebook.cells.remove(cell(notebook, "answer-60-1"))


def merged_and_without_marks(notebook):
    """Two cells of two exercises each, and then Colab took ids and metadata."""
    merge(notebook, "answer-60-1", "check-60-1", "answer-60-2", "check-60-2")
    for n, one in enumerate(notebook.cells):
        one.metadata, one.id = {}, f"c{n}"


# In the file: each function writes a page into a folder, and says what is odd ----------------------------------------

NAME = "60_trial.ipynb"
NAMES = {
    "upper_case_name": "60_TRIAL.IPYNB",
    "name_of_a_download": "60_trial (1).ipynb",
    "named_by_a_messenger": "60_trial (1) [final] – Kopie 2.ipynb",
    "name_of_a_person": "Übung 60 – O'Brien, 王 v1.2 (final).ipynb",
    "a_name_in_letters_of_old": "60_l\udcf6sung.ipynb",  # no UTF-8, as of a disk of long ago
    "long_name": f"a\nb{'x' * 240}.ipynb",  # of 250 letters, with a line's end in it
}
FORMATS = {  # major and minor
    "format_2": (2, 0),  # of the first notebooks
    "format_3": (3, 0),  # of IPython 1 and 2, with worksheets
    **{f"format_4_{minor}": (4, minor) for minor in range(5)},  # Jupyter's first ones, which have no ids
    "format_of_tomorrow": (4, 9),  # a minor version that does not exist yet
}


def written(folder: Path, content: bytes, name: str = NAME) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def under_name(name: str, notebook: NotebookNode, folder: Path) -> Path:
    return written(folder, nbformat.writes(notebook).encode(), NAMES[name])


def in_format(name: str, notebook: NotebookNode, folder: Path) -> Path:
    """The notebook in another format, as a tool of that time would have written it."""
    major, minor = FORMATS[name]
    notebook = nbformat.from_dict(json.loads(json.dumps(notebook)))
    if (major, minor) < (4, 5):
        for cell in notebook.cells:
            cell.pop("id", None)
    if major < 4:
        notebook = nbformat.convert(notebook, 3)
        notebook.nbformat = major
    else:
        notebook.nbformat_minor = minor
    return written(folder, json.dumps(notebook).encode())


def byte_order_mark(notebook, folder):
    """Windows' mark in front."""
    return written(folder, b"\xef\xbb\xbf" + nbformat.writes(notebook).encode())


def windows_lines(notebook, folder):
    """Lines that end as Windows' do."""
    return written(folder, nbformat.writes(notebook).replace("\n", "\r\n").encode())


def keys_of_others(notebook, folder):
    """Keys that the format does not know, at every level."""
    notebook["saved_by"] = {"tool": "mine"}
    for one in notebook.cells:
        one["extra"] = [1, 2, None]
    return written(folder, json.dumps(notebook).encode())


def read_only(notebook, folder):
    """A file that nobody may write."""
    path = written(folder, nbformat.writes(notebook).encode())
    path.chmod(0o444)
    return path


def linked(notebook, folder):
    """A link to the file."""
    (folder / "kept").mkdir()
    target = written(folder / "kept", nbformat.writes(notebook).encode(), "notebook.ipynb")
    (folder / NAME).symlink_to(target)
    return folder / NAME


def format_4_5_with_ids_missing(notebook, folder):
    """The format that asks for ids, without them."""
    for one in notebook.cells:
        one.pop("id", None)
    return written(folder, json.dumps(notebook).encode())
