"""What every explorer does for a click: one computation, one picture, one message to the browser."""

from base64 import b64decode
from io import BytesIO

import pytest
from PIL import Image

from tests.explorers.clicks import EXPLORERS, click, counted
from tutorlib.explorers.explorer import LARGEST, Grids


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_click_is_drawn_once(name):
    explorer = EXPLORERS[name]()
    with counted(explorer) as counts:
        click(explorer, 0, 1, 2)
    assert explorer.grids.problem == ""
    assert counts["compute"] == counts["show"] == 1
    assert counts["cells"] <= LARGEST


@pytest.mark.parametrize("name", EXPLORERS)
def test_what_is_drawn_goes_to_the_browser_in_one_message(name, monkeypatch):
    explorer, sent = EXPLORERS[name](), []
    monkeypatch.setattr(Grids, "send_state", lambda grids, key=None: sent.append(key))
    click(explorer, 0, 2, 2)
    assert len(sent) == 1


@pytest.mark.parametrize("name", ["layout", "compose", "divide", "swizzle", "tv"])
def test_a_bad_input_is_not_drawn(name):
    explorer = EXPLORERS[name]()
    before = explorer.grids.grids
    with counted(explorer) as counts:
        explorer.inputs[0].value = "(32,32"
    assert explorer.grids.problem
    assert explorer.grids.grids == before
    assert counts["show"] == 0


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_page_without_a_kernel_has_a_picture_of_it(name):
    bundle = EXPLORERS[name]()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert Image.open(BytesIO(b64decode(bundle["image/png"]))).size[0] > 200
