"""Right answers as people write them: name → the text of the answer's cell. Asked for is answer(n) = (n + 1, 2 * n)."""

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
