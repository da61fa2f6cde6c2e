"""`show_source`: the course's own code on a page."""

from inspect import getsource
from typing import Any

from tutorlib.dsl.cutile.kernels import inside_of_kernel

MONOSPACED = '<div style="font-family: var(--jp-code-font-family, monospace)">'  # nbconvert's <pre> inherits the font


def show_source(*things: Any) -> None:
    """The code of functions, cuTile kernels and classes, formatted as code in JupyterLab and in exported pages."""
    from IPython.display import Markdown, display

    code = "\n\n".join(getsource(inside_of_kernel(thing)).rstrip() for thing in things)
    display(Markdown(f"{MONOSPACED}\n\n```python\n{code}\n```\n\n</div>"))
