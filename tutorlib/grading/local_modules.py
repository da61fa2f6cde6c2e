"""Python files handed in next to a notebook. Its cells can import them, only in the sandbox."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tutorlib.paths import notebook_names

MOST_MODULES = 20
LARGEST_MODULE = 2**18  # bytes
MOST_SEEN = 2000  # files below a folder that are looked at
Modules = tuple[tuple[str, bytes], ...]  # place beside the notebook, "pkg/helpers.py", and bytes
ENVIRONMENTS = ("site-packages", "__pycache__", "__MACOSX", "node_modules")


def modules_beside(notebooks: Iterable[Path], root: Path, say: Callable[[str], None]) -> dict[Path, Modules]:
    """Notebook → the Python files in its folder and below it.

    root: the folder that was handed in. `say` gets one line that names what else is in it, or is too large.
    """
    files = sorted(files_below(root), key=lambda path: (len(path.parts), path))
    found: dict[Path, Modules] = {}
    taken = set()
    for notebook in notebooks:
        below = [path for path in files if is_module(path.name) and path.is_relative_to(notebook.parent)]
        read = [(path, content) for path in below if (content := read_module(path)) is not None][:MOST_MODULES]
        taken |= {path for path, _ in read}
        found[notebook] = tuple((path.relative_to(notebook.parent).as_posix(), content) for path, content in read)
    if left_out := [path.relative_to(root).as_posix() for path in files if path not in taken]:
        say(f"{root}: {line_of(left_out)}")
    return found


def below(notebook: Path, modules: Modules) -> Modules:
    """Those in a notebook's folder and below it, by their place there. modules: by their places, as `notebook` is."""
    folder = notebook.parent
    found = {Path(name): content for name, content in modules}  # of two in one place the later one
    return tuple(
        (path.relative_to(folder).as_posix(), one) for path, one in found.items() if path.is_relative_to(folder)
    )


def files_below(root: Path) -> Iterator[Path]:
    """Files that may belong to a notebook: no links, no notebooks or sources of the course's pages, nothing hidden."""
    seen = 0
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not is_hidden(name)]
        for name in files:
            path = Path(folder, name)
            if not is_hidden(name) and is_other(name) and path.is_file() and not path.is_symlink():
                yield path
            seen += 1
            if seen == MOST_SEEN:
                return


def is_hidden(name: str) -> bool:
    return name.startswith(".") or name in ENVIRONMENTS


def is_other(name: str) -> bool:
    """Whether a file is neither a notebook nor the text that jupytext keeps beside a page."""
    path = Path(name)
    return path.suffix.lower() != ".ipynb" and path.stem not in notebook_names()


def is_module(name: str) -> bool:
    return name.endswith(".py") and name.isprintable()


def read_module(path: Path) -> bytes | None:
    """Its bytes; None where it is too large, or cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_MODULE + 1)
    except OSError:
        return None
    return content if len(content) <= LARGEST_MODULE else None


def line_of(left_out: Iterable[str]) -> str:
    """One line about files that are not taken along."""
    names = list(left_out)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    shown = "".join(c if c.isprintable() else "?" for c in f"{', '.join(names[:3])}{more}")
    what = f"Python files beside a notebook, {MOST_MODULES} at most of {LARGEST_MODULE // 1024} kB each"
    return f"not taken along: {shown}. The grader takes notebooks, and {what}."


def writing(modules: Modules) -> str:
    """The text of a cell that writes these files where it runs, and leaves no name behind."""
    lines = ["import os"]
    for name, content in modules:
        if folder := os.path.dirname(name):
            lines.append(f"os.makedirs({folder!r}, exist_ok=True)")
        lines += [f"with open({name!r}, 'wb') as file:", f"    file.write({content!r})"]
    return "\n".join([*lines, "del os, file"])
