"""Links of notebooks and manuals, which lead to files of the repository, as links of the site's pages."""

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from tutorlib.notebook.standing import CONTENTS
from tutorlib.paths import FIGURES, NOTEBOOKS, ROOT

REPOSITORY = "GITHUB_REPOSITORY"  # environment variable of a workflow on GitHub: OWNER/NAME
HOST = "https://github.com"
OF_NOTEBOOK = re.compile(r"\]\((?P<stem>\w+)\.ipynb(?:#(?P<anchor>[^)\s]+))?\)")
OF_MANUAL = re.compile(
    r"(?P<image>!?)\[(?P<text>(?:[^]\[]|\[[^]]*\])*)\]\((?!\w+:|#)(?P<path>[^)#\s]+)(?P<fragment>#[^)\s]+)?\)"
)


def repository() -> str | None:
    """The repository's address, if a workflow builds the site."""
    name = os.environ.get(REPOSITORY)
    return f"{HOST}/{name}" if name else None


def notebook_links(text: str) -> str:
    """Markdown of a notebook, whose anchors are JupyterLab's, with the anchors of the site, which are GitHub's."""
    from myst_parser.slugs import github_slugify

    def replaced(link: re.Match[str]) -> str:
        page = "index.md" if link["stem"] == CONTENTS else f"{link['stem']}.ipynb"
        return f"]({page}{'#' + github_slugify(unquote(link['anchor'])) if link['anchor'] else ''})"

    return OF_NOTEBOOK.sub(replaced, text)


def manual_text(manual: Path, manuals: Iterable[Path], folder: Path) -> str:
    """A manual for the site's folder of sources. A link leads to a page, else to the repository, else it is text.

    Images outside figures/ are copied into the folder.
    """
    known = {path.resolve() for path in manuals} | set(NOTEBOOKS.glob("*.ipynb"))

    def replaced(link: re.Match[str]) -> str:
        target = (manual.parent / link["path"]).resolve()
        text, fragment = link["text"], link["fragment"] or ""
        if link["image"]:
            if target.parent != FIGURES:
                shutil.copy(target, folder / target.name)
            return f"![{text}]({target.name if target.parent != FIGURES else f'{FIGURES.name}/{target.name}'})"
        if target in known:
            return f"[{text}]({'index.md' if target.stem == CONTENTS else target.name}{fragment})"
        if target == ROOT / "README.md":
            return f"[{text}](index.md)"
        address = repository()
        return f"[{text}]({address}/blob/HEAD/{target.relative_to(ROOT).as_posix()}{fragment})" if address else text

    return OF_MANUAL.sub(replaced, manual.read_text(encoding="utf-8"))
