"""`make lab` right after the course is cloned, in headless Chromium: the first screen, a check and an explorer."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from tests.browser import free_port, open_page, opened, scroll_to, wait_for
from tutorlib.notebook.standing import PROGRESS
from tutorlib.paths import ROOT

pytestmark = pytest.mark.browser


@pytest.fixture
def lab(tmp_path):
    """`make lab` in a copy of the course, tmp_path / "course", with no one's settings and no one's points.

    Yields the server's address.
    """
    course = tmp_path / "course"
    for name in ("tutorlib", "notebooks", "solutions", ".lab"):
        shutil.copytree(ROOT / name, course / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, course)
    (course / ".venv").symlink_to(sys.prefix)
    port = free_port()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON"))}
    env |= {"HOME": str(tmp_path), "PYTHONPATH": str(course), PROGRESS: str(tmp_path / "progress.jsonl")}
    options = f"--no-browser --ip=127.0.0.1 --port={port} --ServerApp.port_retries=0 --IdentityProvider.token=test"
    with (tmp_path / "lab.log").open("w") as log:
        server = subprocess.Popen(
            ["make", "-o", ".venv/.ready", "lab", f"ARGS={options}"],
            cwd=course,
            env=env,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            wait_for(port, server)
            yield f"http://127.0.0.1:{port}/?token=test"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait()


class Notebook:
    """The notebook that is on top."""

    def __init__(self, page):
        self.page = page
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def cell(self, text):
        """The code cell with this text."""
        found = self.panel.locator(".jp-CodeCell").filter(has_text=text)
        scroll_to(found, self.panel.locator(".jp-Notebook"), 300)
        return found.first

    def run(self, text, instead=None):
        """Run the cell with this text, or what is written in its place. Returns at once: the kernel keeps the order."""
        cell = self.cell(text)
        cell.scroll_into_view_if_needed()
        cell.locator(".cm-content").click()
        if instead:
            self.page.keyboard.press("Control+a")
            self.page.keyboard.insert_text(instead)
        self.page.keyboard.press("Control+Enter")


def test_the_first_screen(lab, chromium, tmp_path):
    from playwright.sync_api import expect

    with opened(chromium) as browser:
        page = open_page(browser, lab, 1440, 1080)
        top = Notebook(page)
        expect(page.get_by_text("| Idle")).to_be_visible()
        assert "/lab/tree/contents.ipynb" in page.url
        expect(top.panel.get_by_role("link", name="13 · Three stages")).to_be_visible()
        page.screenshot(path=tmp_path / "1_opened.png")

        top.run("show_contents()")
        shown = top.panel.locator(".jp-OutputArea-output")
        expect(shown.locator("tr").last).to_contain_text("0 / ")
        expect(shown.locator("tbody").last).not_to_contain_text("✓")
        page.screenshot(path=tmp_path / "2_run.png")

        shown.get_by_role("link", name="00 · Start here").last.click()
        expect(top.panel.get_by_role("heading", name="00 · Start here")).to_be_visible()
        expect(page.get_by_text("| Idle")).to_be_visible()
        check = top.cell('check("00.1"')
        line = "✓ 00.1 ceil_div: 2 points"
        expect(check.locator(".jp-OutputArea-output img")).to_be_visible()  # "not run yet"
        expect(check.locator(".jp-OutputArea-output")).to_have_text("")
        expect(check.locator(".jp-InputPrompt")).to_have_text("[ ]:")
        page.screenshot(path=tmp_path / "3_unrun.png")
        top.run("from tutorlib import check, explain, hint")
        top.run("def ceil_div")
        top.run('check("00.1"')
        expect(check.locator(".jp-OutputArea-output")).to_contain_text("✗ 00.1 ceil_div: not written yet")
        top.run("def ceil_div", "def ceil_div(n, tile):\n    return -(-n // tile)")
        top.run('check("00.1"')
        expect(check.locator(".jp-OutputArea-output")).to_have_text(line)
        page.screenshot(path=tmp_path / "4_right.png")
        page.get_by_role("tab", name="contents.ipynb").click()
        top.run("show_contents()")
        expect(shown.locator("tbody").last.locator("tr").nth(1)).to_contain_text("2 / 2")
        expect(shown).to_contain_text("Next: 01.1 compact_strides")
        page.screenshot(path=tmp_path / "5_after_a_check.png")
        assert page.get_by_text("Jupyter news").count() == 0

        page.goto(lab.replace("/?", "/lab/tree/01_layouts.ipynb?"))
        expect(page.get_by_text("| Idle")).to_be_visible()
        top.run("from tutorlib import check, explore_layout")
        top.run('explore_layout("')
        explorer = top.panel.locator(".jp-OutputArea-output").filter(has=page.locator(".tutorlib-grids"))
        explorer.locator("input").fill("(4,3):(3,1)")
        expect(explorer.locator("figcaption")).to_have_text("(4,3):(3,1)")
        explorer.locator("[data-row='2'][data-column='1']").click()
        expect(explorer.locator(".answer")).to_contain_text("offset 2·3 + 1·1 = 7")
        explorer.locator("input").fill("(4,3):(3")
        expect(explorer.locator(".problem")).to_have_text("The stride (3 lacks a ).")
        page.screenshot(path=tmp_path / "6_explorer.png")
