"""What importing a package costs, where it costs too much."""

import sys


def skip_url_grammar() -> None:
    """Called before nbformat is imported, saves two seconds.

    It imports jsonschema, and that compiles a grammar of URLs wherever rfc3987-syntax is installed, which JupyterLab
    brings. No notebook's format has a URL to validate.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # importing it then raises ImportError
