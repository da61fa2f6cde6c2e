"""Showing the course's own code on a page."""

from inspect import getsource
from typing import Any

MONOSPACED = '<div style="font-family: var(--jp-code-font-family, monospace)">'  # nbconvert's <pre> takes its parent's


def show_source(*things: Any) -> None:
    """The code of functions and classes, as a notebook shows code, in JupyterLab as in an exported page."""
    from IPython.display import Markdown, display

    code = "\n\n".join(getsource(thing).rstrip() for thing in things)
    display(Markdown(f"{MONOSPACED}\n\n```python\n{code}\n```\n\n</div>"))
