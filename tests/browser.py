"""Headless Chromium, and the servers of JupyterLab that it looks at."""

import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.error import URLError

import pytest

PATIENCE_S = 300  # for a server or a page that shares its machine with others
LOOK_S = 0.2
LOOKS = int(PATIENCE_S / LOOK_S)
SWITCHES = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


@contextmanager
def opened(chromium: str | None) -> Iterator[Any]:
    """Playwright's browser. chromium: where it is."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE_S)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=SWITCHES, timeout=1000 * PATIENCE_S)
        yield browser
        browser.close()


def open_page(browser: Any, address: str, width: int, height: int) -> Any:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(1000 * PATIENCE_S)
    page.goto(address)
    return page


def scroll_to(found: Any, notebook: Any, step: int) -> None:
    """Scroll a notebook down until it shows what is to be found: a cell is rendered when it is scrolled into view."""
    from playwright.sync_api import TimeoutError

    for _ in range(LOOKS):
        if found.count():
            break
        with suppress(TimeoutError):  # JupyterLab shows the last notebook before this one
            notebook.hover(timeout=10_000 * LOOK_S)
            notebook.page.mouse.wheel(0, step)
        notebook.page.wait_for_timeout(1000 * LOOK_S)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(port: int, server: subprocess.Popen) -> None:
    """Until JupyterLab answers there."""
    for _ in range(LOOKS):
        assert server.poll() is None, "JupyterLab ended before it answered"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=PATIENCE_S)
        except URLError:
            time.sleep(LOOK_S)
        else:
            return
    pytest.fail(f"JupyterLab did not answer {LOOKS} times")
