"""The explorer of notebook 01 in a real JupyterLab, driven through headless Chromium."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from urllib.error import URLError

import pytest

from tutorlib.paths import SOLUTIONS

pytestmark = pytest.mark.browser

PATIENCE_S = 300  # for a server or a page that shares its machine with others
LOOK_S = 0.2
LOOKS = int(PATIENCE_S / LOOK_S)
TOKEN = "test"
SWITCHES = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    options += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}"]
    with (tmp_path / "lab.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env={**os.environ, **dirs}, stdout=log, stderr=log
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/api", server)
            yield f"http://127.0.0.1:{port}/lab/tree/01_layouts.ipynb?token={TOKEN}"
        finally:
            server.terminate()
            server.wait()


def wait_for(address, server):
    for _ in range(LOOKS):
        assert server.poll() is None, "JupyterLab ended before it answered"
        try:
            urllib.request.urlopen(address, timeout=PATIENCE_S)
        except URLError:
            time.sleep(LOOK_S)
        else:
            return
    pytest.fail(f"JupyterLab did not answer {LOOKS} times")


def test_explorer_in_jupyterlab(lab, chromium, tmp_path):
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE_S)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=SWITCHES, timeout=1000 * PATIENCE_S)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(1000 * PATIENCE_S)
        page.goto(lab)
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        page.get_by_text("| Idle").wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

        explorer = page.locator(".jp-OutputArea-output").filter(has=page.locator(".tutorlib-grids"))
        for _ in range(LOOKS):  # a cell is rendered when it is scrolled into view
            if explorer.count():
                break
            page.locator(".jp-Notebook").hover()
            page.mouse.wheel(0, 500)
            page.wait_for_timeout(1000 * LOOK_S)
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
        browser.close()
