"""`show_source`: the course's own code on a page."""

from inspect import getsource
from textwrap import dedent
from typing import Any

from tutorlib.dsl.cutile.kernels import inside_of_kernel

MONOSPACED = '<div style="font-family: var(--jp-code-font-family, monospace)">'  # nbconvert's <pre> inherits the font


def show_source(*things: Any) -> None:
    """The code of functions, methods, classes and cuTile kernels, formatted in JupyterLab and in exported pages."""
    from IPython.display import Markdown, display

    code = "\n\n".join(dedent(getsource(inside_of_kernel(thing))).rstrip() for thing in things)
    display(Markdown(f"{MONOSPACED}\n\n```python\n{code}\n```\n\n</div>"))
