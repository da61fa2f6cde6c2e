"""The explorer of notebook 01 in a real JupyterLab, driven through headless Chromium."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.browser import free_port, open_page, opened, scroll_to, wait_for
from tutorlib.paths import SOLUTIONS

pytestmark = pytest.mark.browser

TOKEN = "test"


@pytest.fixture
def lab(tmp_path):
    """A JupyterLab of its own, with no one's settings. Yields the address of a copy of the solved notebook 01."""
    root = tmp_path / "course"
    root.mkdir()
    shutil.copy(SOLUTIONS / "01_layouts.ipynb", root)  # solved: "Run All Cells" stops at a check that fails
    kinds = {"CONFIG": "config", "DATA": "data", "RUNTIME": "runtime"}
    dirs = {f"JUPYTER_{kind}_DIR": str(tmp_path / name) for kind, name in kinds.items()}
    dirs |= {"JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"), "IPYTHONDIR": str(tmp_path / "ipython")}
    dirs |= {"JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces")}
    news = tmp_path / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    news.parent.mkdir(parents=True)
    news.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
    port = free_port()
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    options += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}"]
    with (tmp_path / "lab.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env={**os.environ, **dirs}, stdout=log, stderr=log
        )
        try:
            wait_for(port, server)
            yield f"http://127.0.0.1:{port}/lab/tree/01_layouts.ipynb?token={TOKEN}"
        finally:
            server.terminate()
            server.wait()


def test_explorer_in_jupyterlab(lab, chromium, tmp_path):
    from playwright.sync_api import expect

    with opened(chromium) as browser:
        page = open_page(browser, lab, 1280, 900)
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        page.get_by_text("| Idle").wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

        explorer = page.locator(".jp-OutputArea-output").filter(has=page.locator(".tutorlib-grids"))
        scroll_to(explorer, page.locator(".jp-Notebook"), 500)
        box, grids = explorer.locator("input"), explorer.locator(".tutorlib-grids")
        explorer.scroll_into_view_if_needed()
        page.screenshot(path=tmp_path / "1_opened.png")

        def offsets():
            return grids.locator(".cell text").all_text_contents()

        before = offsets()
        box.fill("(4,3):(3,1)")
        expect(grids.locator("figcaption")).to_have_text("(4,3):(3,1)")
        assert offsets() == [str(offset) for offset in range(12)] != before

        grids.locator("[data-row='2'][data-column='1']").click()
        answer = grids.locator(".answer")
        expect(answer).to_contain_text("coordinate (2,1), index 6 of 12")
        expect(answer).to_contain_text("offset 2·3 + 1·1 = 7")
        assert grids.locator(".mark").count() == 4
        page.screenshot(path=tmp_path / "2_clicked.png")

        box.fill("(4,3):(3")
        expect(grids.locator(".problem")).to_have_text("The stride (3 lacks a ).")
        assert offsets() == [str(offset) for offset in range(12)]
        page.screenshot(path=tmp_path / "3_bad.png")

        box.fill("8:2")
        expect(grids.locator(".problem")).to_be_empty()
        assert offsets() == [str(2 * index) for index in range(8)]
