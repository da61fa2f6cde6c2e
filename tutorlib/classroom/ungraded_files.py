"""Messages about files that are not graded: one for each reason and archive, one for a hand-in without a notebook."""

from collections.abc import Iterable
from pathlib import PurePath

from tutorlib.classroom.zip_entries import Entry

NAMED = 3  # files that a line about a hand-in without a notebook names
UNOPENED = "an archive that is not opened; ask for a .zip, or for the notebooks themselves"
KINDS = {
    (".doc", ".docx"): "a Word document",
    (".odt", ".rtf", ".pages"): "a text document",
    (".pdf",): "a PDF",
    (".py",): "a Python file",
    (".xls", ".xlsx", ".ods", ".csv"): "a table",
    (".ppt", ".pptx", ".key", ".odp"): "slides",
    (".htm", ".html"): "a web page",
    (".md", ".txt"): "plain text",
    (".gif", ".heic", ".jpeg", ".jpg", ".png", ".svg", ".webp"): "a picture",
    (".url", ".webloc", ".lnk", ".gdoc"): "a link to a file elsewhere",
    (".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar"): UNOPENED,
}


def kind_by_suffix(name: str) -> str:
    """What a file is by its suffix, which is no notebook: "a PDF"."""
    suffix = PurePath(name).suffix.lower()
    return next((kind for suffixes, kind in KINDS.items() if suffix in suffixes), "a file of another kind")


def no_notebook(files: Iterable[Entry]) -> str:
    """The one line about a hand-in that holds no notebook."""
    files = list(files)
    kinds = [one.why_not or kind_by_suffix(one.parts[-1]) for one in files]
    alone = [
        kind if one.why_not or kind == UNOPENED else f"{kind}, and no notebook"
        for one, kind in zip(files, kinds, strict=True)
    ]
    if len(lines := lines_about(zip(files, alone, strict=True))) == 1:
        return lines[0]
    found = [f"{one.label.rpartition('/')[2]} ({kind})" for one, kind in zip(files, kinds, strict=True)]
    more = [f"{len(found) - NAMED} more"] if len(found) > NAMED else []
    named = [*found[:NAMED], *more]
    listed = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return f"There is no notebook in this hand-in, only {listed}."


def lines_about(left_out: Iterable[tuple[Entry, str]]) -> list[str]:
    """A line for each reason why files are left out, and for each archive (or folder) that they are in."""
    groups: dict[tuple[tuple[str, ...], str], list[Entry]] = {}
    for entry, why in left_out:
        groups.setdefault((archive_or_folder(entry), why), []).append(entry)
    return [
        f"{first.label}{f' and {len(others)} more in {container(first)}' if others else ''}: {why}."
        for (_, why), (first, *others) in groups.items()
    ]


def archive_or_folder(entry: Entry) -> tuple[str, ...]:
    """The outermost zip that a file is in, or else its folder."""
    zips = [n for n, part in enumerate(entry.parts[:-1]) if part.lower().endswith(".zip")]
    return entry.parts[: zips[0] + 1] if zips else entry.parts[:-1]


def container(entry: Entry) -> str:
    return "this zip" if any(part.lower().endswith(".zip") for part in archive_or_folder(entry)) else "this folder"
