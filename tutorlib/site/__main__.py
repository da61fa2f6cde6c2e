"""`make site`: python -m tutorlib.site FOLDER [--answers]."""

import argparse
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tutorlib.course.source import BuildError
from tutorlib.site import sources


def build(out: Path, answers: bool = False) -> int:
    """Build the site from scratch. Returns Sphinx's exit status: a warning, such as a broken link, is an error."""
    from sphinx.cmd.build import build_main

    shutil.rmtree(out, ignore_errors=True)
    with TemporaryDirectory() as made:
        source = Path(made) / "source"
        sources.write(source, answers)
        options = ["-q", "-W", "--keep-going", "-c", str(sources.HERE), "-d", f"{made}/doctrees"]
        return build_main([*options, str(source), str(out)])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tutorlib.site", description="Build the course's site.")
    parser.add_argument("out", type=Path, help="folder for the HTML")
    parser.add_argument("--answers", action="store_true", help="add the answer of each exercise, folded")
    given = parser.parse_args()
    try:
        status = build(given.out, given.answers)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    if status == 0:
        print(f"{given.out}/index.html; serve it, for the explorers: python -m http.server -d {given.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
