"""Sphinx's configuration of the course's site. Everything that a page loads is in the site itself."""

from pathlib import Path

from tutorlib.explorers.explorers import BROWSER

HERE = Path(__file__).parent

project = "Fast GPU matrix kernels"
html_title = project
author = "The tutorlib authors"
language = "en"
extensions = ["myst_nb"]
exclude_patterns = ["notebooks", "figures", "data"]

nb_execution_mode = "off"  # the outputs are those that the solved notebooks hold
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # by default from other hosts
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

highlight_language = "none"  # of a block that names no language

suppress_warnings = ["myst.header"]  # the glossary's terms are headings of level 3, for JupyterLab

html_theme = "furo"
html_theme_options = {"navigation_with_keys": True}
html_static_path = [str(HERE / "static"), str(BROWSER)]
html_css_files = ["grid.css", "site.css"]
html_js_files = [("start.js", {"type": "module"})]
html_favicon = str(HERE / "static" / "favicon.svg")
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
