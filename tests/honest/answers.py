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
    "hints from the future": "from __future__ import annotations\n\n\ndef answer(n: Nobody) -> None:\n    return n + 1, 2 * n",
    "functools.cache": f"import functools\n\n\n@functools.cache\n{PLAIN}",
    "functools.lru_cache": f"from functools import lru_cache\n\n\n@lru_cache(maxsize=2)\n{PLAIN}",
    "a decorator that wraps": (
        "from functools import wraps\n\n\ndef traced(f):\n    @wraps(f)\n    def g(*args):\n        return f(*args)\n\n"
        f"    return g\n\n\n@traced\n{PLAIN}"
    ),
    "a decorator that does not": f"def counted(f):\n    return lambda *args, **kwargs: f(*args, **kwargs)\n\n\n@counted\n{PLAIN}",
    "an object that is called": (
        "class Answer:\n    def __init__(self, step):\n        self.step = step\n\n"
        "    def __call__(self, n):\n        return n + self.step, 2 * n\n\n\nanswer = Answer(1)"
    ),
    "a class that is called": "class answer(tuple):\n    def __new__(cls, n):\n        return n + 1, 2 * n",
    "a bound method": ("class Pairs:\n    def of(self, n):\n        return n + 1, 2 * n\n\n\nanswer = Pairs().of"),
    "a static method": "class Pairs:\n    @staticmethod\n    def of(n):\n        return n + 1, 2 * n\n\n\nanswer = Pairs.of",
    "a partial": "from functools import partial\n\n\ndef pair(step, n):\n    return n + step, 2 * n\n\n\nanswer = partial(pair, 1)",
    "a closure": "def make(step):\n    def inner(n):\n        return n + step, 2 * n\n\n    return inner\n\n\nanswer = make(1)",
    "recursion": "def double(n):\n    return 0 if n == 0 else 2 + double(n - 1) if n < 100 else 2 * n\n\n\ndef answer(n):\n    return n + 1, double(n)",
    "from text": f"exec({PLAIN!r})",
    "a match": "def answer(n):\n    match n:\n        case 0:\n            return 1, 0\n        case _:\n            return n + 1, 2 * n",
    "a walrus": "def answer(n):\n    return (m := n + 1), 2 * (m - 1)",
    "early returns": "def answer(n):\n    if n == 0:\n        return 1, 0\n    if n > 0:\n        return n + 1, 2 * n\n    raise ValueError(n)",
    "positional only": "def answer(n, /):\n    return n + 1, 2 * n",
    "any arguments": "def answer(*args, **kwargs):\n    (n,) = args\n    return n + 1, 2 * n",
    "an option more": "def answer(n, *, step=1, verbose=False):\n    return n + step, 2 * n",
    "another spelling": "def answer(anzahl):\n    return anzahl + 1, 2 * anzahl",
    "a star": "def answer(n):\n    both = [n + 1, 2 * n]\n    return (*both,)",
    "a tuple of a generator": "def answer(n):\n    return tuple(f for f in (n + 1, 2 * n))",
    "a long docstring": 'def answer(n):\n    """Next and double.\n\n    >>> answer(3)\n    (4, 6)\n    """\n    return n + 1, 2 * n',
    "unicode names": "def answer(größe):\n    π, 二 = größe + 1, 2 * größe\n    return π, 二",
    "tabs": "def answer(n):\n\tm = n + 1\n\treturn m, 2 * n",
    "semicolons": "def answer(n): m = n + 1; return m, 2 * n;",
    "a continued line": "def answer(n):\n    return n + 1, \\\n        2 * n",
    "odd white space": "\n\n\x0cdef answer( n ) :   \n\n\n        return n+1 ,2*n   \n\n\n   \n",
    "carriage returns": "def answer(n):\r\n    return n + 1, 2 * n\r\n",
    "a hundred kilobytes of comments": "# what I tried\n" * 7000 + PLAIN,
    "the placeholder left": "def answer(n):\n    # YOUR CODE HERE (about 1 line)\n    return n + 1, 2 * n\n    raise NotImplementedError('Exercise 60.1')",
    "an annotated name": "answer: object = lambda n: (n + 1, 2 * n)",
    "two names at once": "answer, other = (lambda n: (n + 1, 2 * n)), None",
    "a name in brackets": "(answer := lambda n: (n + 1, 2 * n))",
    "a name out of a dictionary": "globals()['answer'] = lambda n: (n + 1, 2 * n)",
    "under a condition": f"if True:\n    {PLAIN}".replace("\n    return", "\n        return"),
    "in a try": "try:\n    import cupy\nexcept ImportError:\n    cupy = None\nfinally:\n    def answer(n):\n        return n + 1, 2 * n",
    "overloads": f"from typing import overload\n\n\n@overload\ndef answer(n: int): ...\n@overload\ndef answer(n: float): ...\n{PLAIN}",
    "single dispatch": f"from functools import singledispatch\n\n\n@singledispatch\n{PLAIN}\n\n\nanswer.register(str, len)",
    "an async helper": "async def pair(n):\n    return n + 1, 2 * n\n\n\ndef answer(n):\n    try:\n        pair(n).send(None)\n    except StopIteration as end:\n        return end.value",
    "a generator inside": "def both(n):\n    yield n + 1\n    yield 2 * n\n\n\ndef answer(n):\n    return (*both(n),)",
    "a helper deleted": "def step():\n    return 1\n\n\nSTEP = step()\ndel step\n\n\ndef answer(n):\n    return n + STEP, 2 * n",
    "is with a literal": "def answer(n):\n    '\\d'\n    assert n is not 'x'\n    return n + 1, 2 * n",
    "ten thousand empty lines": "\n" * 10_000 + PLAIN,
    "a table of a hundred kilobytes": f"TABLE = {list(range(20_000))}\n\n\n{PLAIN}",
    "a draft above": "def answer(n):\n    return n, n\n\n\n# no:\n" + PLAIN,
    "a pipeline of partials": "from functools import partial, reduce\nimport operator\n\nnext_of, double = partial(operator.add, 1), partial(operator.mul, 2)\n\n\ndef answer(n):\n    return next_of(n), double(n)",
    "a property": "class Pairs:\n    @property\n    def of(self):\n        return lambda n: (n + 1, 2 * n)\n\n\nanswer = Pairs().of",
    "a metaclass": "class Calls(type):\n    def __call__(cls, n):\n        return n + 1, 2 * n\n\n\nclass answer(metaclass=Calls):\n    pass",
    "a dataclass that is called": "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Pair:\n    step: int = 1\n\n    def __call__(self, n):\n        return n + self.step, 2 * n\n\n\nanswer = Pair()",
    "a cached method": "from functools import cache\n\n\nclass Pairs:\n    @cache\n    def of(self, n):\n        return n + 1, 2 * n\n\n\nanswer = Pairs().of",
    "a type alias and generics": "from typing import Callable, TypeVar\n\nT = TypeVar('T', bound=int)\nPair = tuple[T, T]\n\n\ndef answer(n: T) -> Pair:\n    return n + 1, 2 * n",
    "a context as decorator": "from contextlib import ContextDecorator\n\n\nclass timed(ContextDecorator):\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *_):\n        return False\n\n\n@timed()\ndef answer(n):\n    return n + 1, 2 * n",
    "a generator's send": "def pairs():\n    got = None\n    while True:\n        n = yield got\n        got = n + 1, 2 * n\n\n\ngenerator = pairs()\nnext(generator)\nanswer = generator.send",
    "a mock": "from unittest.mock import Mock\n\nanswer = Mock(side_effect=lambda n: (n + 1, 2 * n))",
    "attributes made up": "class A:\n    def __getattr__(self, name):\n        if name.startswith('__'):\n            raise AttributeError(name)\n        return self\n\n    def __call__(self, n):\n        return n + 1, 2 * n\n\n\nanswer = A()",
    "a decorator with options": "def njit(*args, **kwargs):\n    return args[0] if args else (lambda f: f)\n\n\n@njit(parallel=True)\ndef answer(n):\n    return n + 1, 2 * n",
    "built from a tree": "import ast\n\nexec(compile(ast.parse('def answer(n):\\n    return n + 1, 2 * n'), 'mine', 'exec'))",
    "arithmetic with bits": "def answer(n):\n    return -~n, n << 1",
    "one name in two spellings": "def answer(n):\n    zoë = n + 1\n    return zoë, 2 * n",
    "letters that nobody sees": "# \u200b\u202e\ufeff\ndef answer(n):\n    return n + 1, 2 * n",
    "lines that are none": "def answer(n):\n    '''\xa0\u2028\u2029'''\n    return n + 1, 2 * n",
}
NUMBERS = {
    "NumPy's numbers": "import numpy as np\n\n\ndef answer(n):\n    return np.int64(n + 1), np.int64(2 * n)",
    "NumPy's numbers without a sign": "import numpy as np\n\n\ndef answer(n):\n    return np.uint64(n + 1), np.uint64(2 * n)",
    "an array": "import numpy as np\n\n\ndef answer(n):\n    return np.array([n + 1, 2 * n])",
    "a view of an array": "import numpy as np\n\n\ndef answer(n):\n    return np.array([[2 * n, 0], [n + 1, 0]])[::-1, 0]",
    "an array without dimensions": "import numpy as np\n\n\ndef answer(n):\n    return np.asarray(n + 1), np.asarray(2 * n)",
    "vectorized": "import numpy as np\n\n\ndef answer(n):\n    return tuple(np.full(2, n) * [1, 2] + [1, 0])",
    "operator's functions": "import operator\n\n\ndef answer(n):\n    return operator.add(n, 1), operator.mul(2, n)",
    "torch's numbers turned plain": "import torch\n\n\ndef answer(n):\n    return int(torch.tensor(n) + 1), (2 * torch.tensor(n)).item()",
    "NumPy's functions": "import numpy as np\n\n\ndef answer(n):\n    return np.add(n, 1, dtype=np.int64), np.multiply(n, 2, dtype=np.int64)",
    "NumPy's other integers": "import numpy as np\n\n\ndef answer(n):\n    return np.longlong(n + 1), np.longlong(2 * n)",
    "fractions": "from fractions import Fraction\n\n\ndef answer(n):\n    return int(Fraction(n) + 1), int(Fraction(2) * n)",
    "decimals": "from decimal import Decimal\n\n\ndef answer(n):\n    return int(Decimal(n) + 1), int(2 * Decimal(n))",
    "named constants": "from enum import IntEnum\n\n\nclass Step(IntEnum):\n    ONE = 1\n    TWO = 2\n\n\ndef answer(n):\n    return n + Step.ONE, Step.TWO * n",
    "a namedtuple unpacked": "from collections import namedtuple\n\nPair = namedtuple('Pair', 'following double')\n\n\ndef answer(n):\n    return tuple(Pair(n + 1, 2 * n))",
}
SHOWS = {
    "prints when called": inside("print('n is', n)"),
    "prints in the cell": below("print(answer(3))"),
    "prints a check's line": inside("print('✓ 60.1 answer: 2 points')"),
    "logs": inside("import logging\n\nlogging.warning('n is %s', n)"),
    "warns": inside("import warnings\n\nwarnings.warn('n may be large')"),
    "writes to stderr": inside("import sys\n\nprint('n is', n, file=sys.stderr, flush=True)"),
    "a progress bar": inside("for k in range(20):\n    print(f'\\r{5 * k} %', end='', flush=True)"),
    "rich's progress": inside("from rich.progress import track\n\nfor _ in track(range(20)):\n    pass"),
    "clears what it shows": inside(
        "from IPython.display import clear_output, display\n\nfor k in range(3):\n    clear_output(wait=True)\n    display(k)\nclear_output()"
    ),
    "updates what it shows": inside(
        "from IPython.display import display\n\nshown = display(0, display_id=True)\nfor k in range(3):\n    shown.update(k)"
    ),
    "an output widget": below("import ipywidgets\n\nout = ipywidgets.Output()\nwith out:\n    print(answer(3))\nout"),
    "a widget": below("import ipywidgets\n\nipywidgets.IntSlider()"),
    "a value at the end": below("answer(3)"),
    "a picture": below("import matplotlib.pyplot as plt\n\nplt.plot([answer(n)[1] for n in range(9)])\nplt.show()"),
    "pages of HTML": below(
        "from IPython.display import HTML, Markdown, display\n\ndisplay(HTML('<b>n</b>'), Markdown('**n**'))"
    ),
    "a figure of the course": below("from tutorlib import show_layout\n\nshow_layout('(4,3):(1,4)')"),
    "help": below("help(answer)\nanswer?"),
    "a table": "def answer(n):\n    return n + 1, 2 * n\n\n\nimport pandas as pd\n\npd.DataFrame({'n': range(5), 'answer': [answer(n) for n in range(5)]})",
    "rich's print": "def answer(n):\n    return n + 1, 2 * n\n\n\nfrom rich import print\n\nprint('[bold]n[/bold]', answer(3))",
}
MAGICS = {
    "%%time": f"%%time\n{PLAIN}",
    "%%capture": f"%%capture\n{PLAIN}",
    "%%capture with a name": f"%%capture shown\n{PLAIN}\nprint(answer(3))",
    "%%prun": f"%%prun -q\n{PLAIN}",
    "%time": below("%time answer(3)"),
    "%timeit": below("%timeit -n 1 -r 1 answer(3)"),
    "%matplotlib": above("%matplotlib inline"),
    "%autoreload": above("%load_ext autoreload\n%autoreload 2"),
    "%config": above("%config InlineBackend.figure_format = 'retina'\n%xmode Minimal\n%precision 3"),
    "%pdb": above("%pdb on"),
    "%env and %cd": above("%env STEP=1\n%cd -q /"),
    "a shell's line": above("!ls\nfiles = !ls /"),
    "pip": above("%pip install --quiet --no-index a-package-that-nobody-has\n!pip --version"),
    "%who and %history": "def answer(n):\n    return n + 1, 2 * n\n\n\n%who\n%whos\n%history -l 1\n%pwd",
    "%run": "!echo 'STEP = 1' > step.py\n%run step.py\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "%store": "%store\n%alias_magic t timeit\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "%matplotlib notebook": "%matplotlib notebook\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "%pprint and %colors": "%pprint\n%colors NoColor\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "question marks": "def answer(n):\n    return n + 1, 2 * n\n\n\nanswer??\n?answer\nlen?",
    "a shell's lines kept": "out = !echo 3\npath = %pwd\n\n\ndef answer(n):\n    return n + 1, 2 * n",
}
HABITS = {  # what leaves its folder comes last: others write to it
    "tests of its own": below("assert answer(1) == (2, 2)\nfor n in range(5):\n    assert answer(n)[1] == 2 * n"),
    "unittest": below(
        "import unittest\n\n\nclass Test(unittest.TestCase):\n    def test_one(self):\n"
        "        self.assertEqual(answer(1), (2, 2))\n\n\nunittest.main(argv=[''], exit=False)"
    ),
    "its own check": below("check('60.1', answer)"),
    "a hint asked for": above("from tutorlib import hint\n\nhint('60.1')"),
    "a main": below("if __name__ == '__main__':\n    answer(3)"),
    "a question never asked": below("def ask():\n    return input('n? ')"),
    "seeds": above("import random\n\nimport numpy as np\n\nrandom.seed(0)\nnp.random.seed(0)"),
    "warnings are errors": above("import warnings\n\nwarnings.simplefilter('error')"),
    "floating point is strict": above("import numpy as np\n\nnp.seterr(all='raise')\nnp.set_printoptions(precision=2)"),
    "another locale": above("import locale\n\nlocale.setlocale(locale.LC_ALL, 'C')"),
    "files": inside("with open('scratch.txt', 'a') as file:\n    file.write(str(n))"),
    "temporary files": inside("import tempfile\n\nwith tempfile.NamedTemporaryFile() as file:\n    file.write(b'n')"),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\n\n\ndef answer(n):\n    with ThreadPoolExecutor(2) as pool:\n"
        "        return tuple(pool.map(lambda f: f(n), (lambda n: n + 1, lambda n: 2 * n)))"
    ),
    "a thread left running": inside(
        "import threading\n\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
    ),
    "another process": inside("import subprocess\n\nsubprocess.run(['true'], check=True)"),
    "forked processes": (
        "from multiprocessing import get_context\n\n\ndef following(n):\n    return n + 1\n\n\ndef answer(n):\n"
        "    with get_context('fork').Pool(1) as pool:\n        return pool.apply(following, (n,)), 2 * n"
    ),
    "await": "import asyncio\n\nawait asyncio.sleep(0)\n\n\n" + PLAIN,
    "a loop of its own": (
        "import asyncio\nfrom threading import Thread\n\n\nasync def pair(n):\n    return n + 1, 2 * n\n\n\ndef answer(n):\n"
        "    got = []\n    thread = Thread(target=lambda: got.append(asyncio.run(pair(n))))\n    thread.start()\n"
        "    thread.join()\n    return got[0]"
    ),
    "global state": "calls = 0\nseen = {}\n\n\ndef answer(n):\n    global calls\n    calls += 1\n    return seen.setdefault(n, (n + 1, 2 * n))",
    "names of builtins taken": below("list = id = type = sum = max = 3"),
    "names of modules taken": below("json = os = sys = np = tutorlib = serve = result = _ = __ = 3"),
    "standard output swapped": above("import io\nimport sys\n\nsys.stdout = io.StringIO()"),
    "a deep stack": above("import sys\n\nsys.setrecursionlimit(20_000)"),
    "no rubbish collected": above("import gc\n\ngc.disable()"),
    "a setting of the environment": above(
        "import os\n\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\nos.environ['TERM'] = 'dumb'"
    ),
    "everything imported": above("from math import *\nfrom os.path import *"),
    "torch's defaults": "import torch\n\ntorch.set_default_dtype(torch.float64)\ntorch.manual_seed(0)\ntorch.set_num_threads(1)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "torch without gradients": "import torch\n\n\n@torch.inference_mode()\ndef answer(n):\n    return n + 1, 2 * n",
    "logging configured": "import logging\n\nlogging.basicConfig(level=logging.DEBUG, force=True)\nlogging.getLogger().setLevel(0)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "matplotlib's style": "import matplotlib\nimport matplotlib.pyplot as plt\n\nmatplotlib.use('agg')\nplt.style.use('ggplot')\nplt.rcParams['figure.dpi'] = 300\nplt.xkcd()\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "folders to import from": "import sys\n\nsys.path.insert(0, '..')\nsys.path.append('/content/drive/MyDrive')\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "a hook for exceptions": "import sys\n\nsys.excepthook = lambda *args: None\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "a breakpoint never reached": "def answer(n):\n    if n is None:\n        breakpoint()\n    return n + 1, 2 * n",
    "rich's tracebacks": "from rich import pretty, traceback\n\npretty.install()\ntraceback.install(show_locals=True)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "names of the course": "def answer(n):\n    return n + 1, 2 * n\n\n\nlayout = exercise = hint = display = cell = answers = results = door = outcome = 3",
    "a check of its own name": "def answer(n):\n    return n + 1, 2 * n\n\n\ndef check(id, f):\n    assert f(1) == (2, 2)\n\n\ncheck('60.1', answer)",
    "doctest": "def answer(n):\n    return n + 1, 2 * n\n\n\nimport doctest\n\ndoctest.testmod(verbose=False)",
    "another temporary folder": "import tempfile\n\ntempfile.tempdir = '/nobody/has/this'\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "files that nobody may read": "import os\n\nos.umask(0o777)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "a time limit for sockets": "import socket\n\nsocket.setdefaulttimeout(0.001)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "a flat stack": "import sys\n\nsys.setrecursionlimit(150)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "short numbers": "import sys\n\nsys.set_int_max_str_digits(640)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "a print of its own": "import builtins\nimport functools\n\nbuiltins.print = functools.partial(print, flush=True)\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "tracemalloc": "import tracemalloc\n\ntracemalloc.start()\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "a goodbye": "import atexit\n\natexit.register(print, 'bye')\n\n\ndef answer(n):\n    return n + 1, 2 * n",
    "an alarm": "def answer(n):\n    import signal\n    \n    if hasattr(signal, 'SIGALRM'):\n        signal.alarm(5)\n        signal.alarm(0)\n    return n + 1, 2 * n",
    "an error that nobody can handle": "class Leaves:\n    def __del__(self):\n        raise ValueError('while it goes')\n\n\ndef answer(n):\n    Leaves()\n    return n + 1, 2 * n",
    "an exception handled": inside("try:\n    1 / 0\nexcept ZeroDivisionError:\n    pass"),
    "a handler of interrupts": above("import signal\n\nsignal.signal(signal.SIGINT, signal.default_int_handler)"),
    "another folder": above("import os\n\nos.chdir('/')"),
    "a folder that is gone": above(
        "import os\nimport tempfile\n\nwith tempfile.TemporaryDirectory() as gone:\n    os.chdir(gone)"
    ),
}
ANSWERS = FORMS | NUMBERS | SHOWS | MAGICS | HABITS
