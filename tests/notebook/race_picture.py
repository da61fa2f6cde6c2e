"""README's first picture: `python -m tests.notebook.race_picture` writes figures/race.png.

The page's transpose without its barrier, checked and explained in a notebook that is executed here and shown as
JupyterLab shows it.
"""

import tempfile
from pathlib import Path

from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat import v4
from PIL import Image

from tests.browser import open_page, opened
from tests.conftest import find_browser
from tutorlib.course.answers import needed_cells
from tutorlib.course.source import parse
from tutorlib.paths import FIGURES, ROOT, SOLUTIONS

ID, ANSWER = "05.3", "transpose"
SHOWN = (f'check("{ID}", {ANSWER})', f'explain("{ID}", {ANSWER})')


def main() -> None:
    cells = [cell.solved for cell in needed_cells(parse(SOLUTIONS / "05_copy_kernels.py"))]
    kernel = next(n for n, code in enumerate(cells) if f"def {ANSWER}_kernel(" in code)
    racing = "\n".join(line for line in cells[kernel].split("\n") if "sync_threads" not in line and "###" not in line)
    needed = [*cells[:kernel], *cells[kernel + 1 :]]
    notebook = v4.new_notebook(cells=[v4.new_code_cell(code) for code in ("\n\n\n".join(needed), racing, *SHOWN)])
    NotebookClient(notebook, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": ROOT}}).execute()
    notebook.cells = notebook.cells[1:]
    lines = [f"{line}  # line {n}" if "cute.copy(" in line else line for n, line in enumerate(racing.split("\n"), 1)]
    first = next(n for n, line in enumerate(lines) if "cute.copy(" in line)
    notebook.cells[0].source = "\n".join(lines[first : lines.index("", first)])
    html, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    with tempfile.TemporaryDirectory() as folder, opened(find_browser()) as browser:
        page_file = Path(folder, "race.html")
        page_file.write_text(html, encoding="utf-8")
        page = open_page(browser, page_file.as_uri(), 1000, 1200)
        page.add_style_tag(
            content="img, .jp-OutputArea-child:has(img) { display: none; } pre { word-break: normal !important; }"
        )
        page.locator("main").screenshot(path=Path(folder, "race.png"))
        with Image.open(Path(folder, "race.png")) as image:
            image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(FIGURES / "race.png", optimize=True)


if __name__ == "__main__":
    main()
