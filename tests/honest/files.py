"""Right pages in files as people have them. Each function writes a page into a folder, and returns the file."""

import json
from pathlib import Path

import nbformat
from nbformat import NotebookNode

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
    for cell in notebook.cells:
        cell["extra"] = [1, 2, None]
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
    for cell in notebook.cells:
        cell.pop("id", None)
    return written(folder, json.dumps(notebook).encode())
