"""`make site`: python -m tutorlib.site FOLDER."""

import argparse
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tutorlib.course.source import BuildError
from tutorlib.explorers.explorers import BROWSER
from tutorlib.site import sources

STATIC = Path(__file__).parent / "static"
CONFIGURATION = {  # Sphinx's. Everything that a page loads is in the site itself
    "project": "Fast GPU matrix kernels",
    "html_title": "Fast GPU matrix kernels",
    "author": "The tutorlib authors",
    "language": "en",
    "extensions": ["myst_nb"],
    "exclude_patterns": ["notebooks", "figures", "data"],
    "nb_execution_mode": "off",  # the outputs are those that the solved notebooks hold
    "nb_ipywidgets_js": {},  # by default from other hosts
    "myst_enable_extensions": ["colon_fence"],
    "myst_heading_anchors": 4,
    "highlight_language": "none",  # of a block that names no language
    "suppress_warnings": ["myst.header"],  # the glossary's terms are headings of level 3, for JupyterLab
    "html_theme": "furo",
    "html_theme_options": {"navigation_with_keys": True},
    "html_static_path": [str(STATIC), str(BROWSER)],
    "html_css_files": ["grid.css", "site.css"],
    "html_js_files": [("start.js", {"type": "module"})],
    "html_favicon": str(STATIC / "favicon.svg"),
    "html_copy_source": False,
    "html_show_sphinx": False,
    "html_show_copyright": False,
}


def build(out: Path) -> int:
    """Build the site from scratch. Returns Sphinx's exit status: a warning, such as a broken link, is an error.

    Raises BuildError if a notebook is stale.
    """
    from sphinx.application import Sphinx

    shutil.rmtree(out, ignore_errors=True)
    with TemporaryDirectory() as made:
        source = Path(made) / "source"
        sources.write(source)
        doctrees = Path(made) / "doctrees"
        app = Sphinx(source, None, out, doctrees, "html", CONFIGURATION, status=None, warningiserror=True)
        app.build()
        return app.statuscode


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tutorlib.site", description="Build the course's site.")
    parser.add_argument("out", type=Path, help="folder for the HTML")
    out = parser.parse_args().out
    try:
        status = build(out)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    if status == 0:
        print(f"{out}/index.html; serve it, for the explorers: python -m http.server -d {out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
