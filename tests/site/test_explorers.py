"""Explorers in the browser: their first pictures are Python's, and what clicks and inputs show."""

import os
import random
from base64 import b64decode
from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from tensor_layouts import LayoutError

import tutorlib
from tests.conftest import EVERYTHING
from tests.site.conftest import served
from tutorlib.draw.grid import CellGrid, outline
from tutorlib.explorers.explorers import ACCESSES, BROWSER, FAULTS, Explorer
from tutorlib.layouts.matrix import TooLarge
from tutorlib.layouts.notation import NotationError
from tutorlib.layouts.views import NoLayout

pytestmark = pytest.mark.browser

TIMES = 300 if os.environ.get(EVERYTHING) else 30
KINDS = ["layout", "compose", "divide", "swizzle", "tv", "tile_space", "mbarriers"]
LAYOUTS = (
    *("(4,3):(3,1)", "(4,3)", "8:2", "8", "(8,)", "1:0", "((2,2),(4,2)):((1,16),(2,8))", "(2,(2,2),3):(6,(3,1),12)"),
    *("(4,8):(8,1)", "(6,2):(8,2)", "(8,64):(64,1)", "(16,16):(0,1)", "(4,4):(-1,4)", "(2,3,4)", "(1,8):(3,1)"),
    *("(3,5):(5,1)", " ( 2 , 2 ) : ( 1 , 2 ) ", "4,3", "(2,2):(1,1)", "((4,2),(2,2))", "(5,3):(4,7)", "(8,32)"),
)
REFUSED = (
    *("(4,3", "4)", "", ":", "(4,3):", "(4,x)", "(4,3):(3,1):2", "(4,0)", "(4,-2)", "(4,3):(1,(2,3))", "()"),
    *("(4,(),2)", "(4,,3)", "--3", "04", "(4)(3)", "1 2", "'", "(1,2)" * 50, ")(", "2,-", "4:4:'\""),
)
TILERS = (
    *("(4,4)", "(2,3)", "4:2", "2", "(2,)", "(1,2)", "(4,4,4)", "((2,2),2)", "2:3", "(2,2):(1,4)"),
    *("3:-1", "(3,5)", "(8,1)", "(2", ":"),
)
THREADS = "(2,4):(4,1)", "(8,4):(4,1)", "(4,2)", "(2,4):(8,1)", "8", "((2,2),2)", "(1,1)"
VALUES = "(1,4):(4,1)", "(2,2)", "(1,1)", "(2,2):(2,1)", "(1,4):(1,2)", "4"
TILES = "(8,16)", "(16,32)", "(4,)", "(8,16,2)", "(7,16)", "((2,4),16)"


@pytest.fixture(scope="module")
def page(browser):
    with served(BROWSER) as address:
        opened = browser.new_page()
        opened.goto(f"{address}/")
        yield opened
        opened.close()


PLAY = """async ([description, actions]) => {
  const { Model } = await import("/model.js");
  const model = new Model(description);
  for (const [input, value] of actions) {
    if (input === null) model.send(value);
    else model.change(model.inputs[input], value);
  }
  return model.state;
}"""


def played(page, explorer: Explorer, *actions: tuple[int, int, int] | tuple[int, Any]) -> dict[str, Any]:
    """What it shows after these actions: a click (grid, row, column), or (number of an input, its value)."""
    sent = [
        [None, dict(zip(("grid", "row", "column"), action, strict=True))] if len(action) == 3 else action
        for action in actions
    ]
    return page.evaluate(PLAY, [explorer.description, sent])


def explorer_of(kind: str, *arguments: Any, **named: Any) -> Explorer:
    return getattr(tutorlib, f"explore_{kind}")(*arguments, **named)


def shown(grid: CellGrid) -> dict[str, Any]:
    """A grid as the browser has it, its lines in one order."""
    return {
        "title": grid.title,
        "labels": list(map(list, grid.labels)),
        "colors": list(map(list, grid.colors)),
        "down": list(grid.down),
        "across": list(grid.across),
        "rowBreaks": sorted(map(list, grid.row_breaks.items())),
        "columnBreaks": sorted(map(list, grid.column_breaks.items())),
        "outline": sorted([*start, *end] for start, end in outline(grid.outlined)),
    }


def in_order(grid: dict[str, Any]) -> dict[str, Any]:
    return grid | {name: sorted(grid[name]) for name in ("rowBreaks", "columnBreaks", "outline")}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "swizzle"])
def test_its_first_picture_is_the_one_of_pages_without_a_kernel(page, kind):
    explorer = explorer_of(kind)
    assert list(map(in_order, played(page, explorer)["grids"])) == list(map(shown, explorer.grids))
    data, _ = explorer._repr_mimebundle_()
    assert Image.open(BytesIO(b64decode(data["image/png"]))).size[0] > 200


TYPED = {
    "layout": [(*LAYOUTS, *REFUSED)],
    "compose": [LAYOUTS, (*LAYOUTS, "(4,3")],
    "divide": [(*LAYOUTS, "(2"), TILERS],
    "tv": [THREADS, VALUES, TILES],
}


@pytest.mark.parametrize("kind", TYPED)
def test_any_input_has_pythons_picture_or_its_message(page, kind):
    rng = random.Random(kind)
    for _ in range(TIMES):
        typed = [rng.choice(texts) for texts in TYPED[kind]]
        state = played(page, explorer_of(kind), *enumerate(typed))
        grids = [] if state["problem"] else list(map(in_order, state["grids"]))
        assert (state["problem"], grids) == drawn_by_python(kind, typed), typed


def drawn_by_python(kind: str, typed: list[str]) -> tuple[str, list[dict[str, Any]]]:
    """Its message and its grids, one of which is empty."""
    try:
        return "", list(map(shown, explorer_of(kind, *typed).grids))
    except (NotationError, TooLarge, NoLayout, LayoutError) as error:
        return str(error).splitlines()[0], []


def test_swizzled_banks_and_their_wavefronts_are_pythons(page):
    rng = random.Random("swizzle")
    for _ in range(TIMES):
        layout = rng.choice(("(8,64):(64,1)", "(32,32):(32,1)", "(8,64):(72,1)", "(16,16):(16,1)", "(4,64):(64,1)"))
        bits = rng.randint(0, 3)
        explorer = explorer_of("swizzle", layout, (bits, rng.randint(0, 4), rng.randint(max(bits, 1), 5)))
        for got, grid in zip(played(page, explorer)["grids"], explorer.grids, strict=True):
            want = shown(grid)
            assert (got["labels"], got["colors"]) == (want["labels"], want["colors"])
            if grid.outlined:  # the vectors are whole
                assert sorted(got["outline"]) == want["outline"]
                assert grid.title.splitlines()[1] in got["title"]


CLICKS = [  # explorer, its arguments, actions, what it says, the number of lines around outlined cells in each grid
    ("layout", ["(4,3):(3,1)"], [(0, 2, 1)], "coordinate (2,1), index 6 of 12\noffset 2·3 + 1·1 = 7", [4]),
    ("layout", [], [(0, 2, 1), (0, "((2,2),3):((1,2),4)")], "size 12, cosize 12. Click a cell.", [0]),
    ("layout", ["5:2"], [(0, 0, 3)], "coordinate 3, index 3 of 5\noffset 3·2 = 6", [4]),
    ("compose", [], [(2, 2, 1)], "b(2,1) = 7, which is a(1,1)\n(a∘b)(2,1) = a(7) = 10", [4, 4, 4]),
    ("compose", [], [(1, 1, 1)], "a(1,1) is selected by one cell of b.", [4, 4, 4]),
    ("compose", ["(2,2):(2,1)", "6:1"], [(2, 0, 4)], "b(4) = 4 is no index of a, which has 4 elements.", [4, 0, 4]),
    ("divide", [], [], "Tile 0 is outlined. Click a cell on either side to find it on the other.", [16, 34]),
    ("divide", ["(10,6):(6,1)", (4, 2)], [(0, 5, 3)], "(5,3) is element 5 of tile 4\noffset 33 on both sides", [4, 4]),
    ("divide", ["(10,6):(6,1)", (4, 2)], [(1, 5, 4)], "(5,3) is element 5 of tile 4\noffset 33 on both sides", [4, 4]),
    ("divide", ["(10,6):(6,1)", (4, 2)], [(1, 3, 2)], "This element of the tile is outside the matrix", [0, 4]),
    ("swizzle", [], [(1, 3, 2)], "(3,16): offset 208 → 200, in bits 011010000 → 011001000; bank 4", [18, 18]),
    ("tv", [], [(0, 3, 5)], "(3,5) is value 5 of thread 5, in warp 0; it holds 16 values", [40]),
    ("tile_space", [], [(0, 9, 17)], "element (9, 17) is (1, 1) of tile (2, 2)\nct.load(x, (2, 2), (4, 8))", [24, 4]),
    ("tile_space", [], [(0, 10, 0)], "(10, 0) is outside: a load pads it, a store drops it", [24, 4]),
    ("tile_space", [], [(1, 2, 2)], "ct.load(x, (2, 2), (4, 8)): 8 of its 32 elements exist", [24, 4]),
    ("tile_space", [], [(1, 2, 2), (0, 4)], "Click an element of the array, or a tile.", [0, 0]),
]


@pytest.mark.parametrize(("kind", "arguments", "actions", "says", "lines"), CLICKS)
def test_a_click_and_a_new_value(page, kind, arguments, actions, says, lines):
    state = played(page, explorer_of(kind, *arguments), *actions)
    assert says in state["answer"]
    assert [len(grid["outline"]) for grid in state["grids"]] == lines
    assert state["problem"] == ""


def test_the_cost_of_each_access(page):
    costs = []
    for name in ACCESSES:
        titles = [grid["title"] for grid in played(page, explorer_of("swizzle"), (5, name))["grids"]]
        costs.append([title.splitlines()[1].partition(": ")[2] for title in titles])
    assert costs == [
        ["1 wavefront, the least", "1 wavefront, the least"],
        ["8 wavefronts, 1 would do", "1 wavefront, the least"],
        ["4 wavefronts, the least", "4 wavefronts, the least"],
        ["8 wavefronts, 1 would do", "1 wavefront, the least"],
        ["8 wavefronts, 1 would do", "1 wavefront, the least"],
    ]


def test_a_bad_input_says_why_and_the_last_picture_stays(page):
    good = played(page, explorer_of("layout"))
    for typed, says in {"((2,2),3):((1,2),4": "The stride ((1,2),4 lacks a ).", "(99,99)": "9,801 elements"}.items():
        bad = played(page, explorer_of("layout"), (0, typed), (0, 0, 0))
        assert says in bad["problem"]
        assert bad["grids"] == good["grids"]
    assert "S is at least B" in played(page, explorer_of("swizzle"), (1, 5))["problem"]
    assert "(16,8)" in played(page, explorer_of("divide"), (1, "(4,2,2)"))["problem"]


# A ring of mbarriers --------------------------------------------------------------------------------------------------

PRODUCER, TMA, CONSUMER = range(3)


def clicked(page, *places: tuple[int, int], **arguments: Any) -> dict[str, Any]:
    return played(page, explorer_of("mbarriers", **arguments), *((0, *place) for place in places))


def test_a_k_tile_passes_through_the_ring(page):
    actions = [(PRODUCER, 0)] * 4
    state = clicked(page, *actions)
    assert "producer: index 1, phase 1, count 1" in state["answer"]
    assert [label for label in state["grids"][0]["labels"][TMA] if label] == ["A 0", "B 0"]
    actions += [(TMA, 1), (CONSUMER, 0)]
    state = clicked(page, *actions)
    assert "phase 0 of full[0] is not over" in state["answer"]
    assert state["grids"][1]["labels"][0] == ["", "0", "0", "0", "16", "0", "1"]  # B is there, A's 16 KiB are missing
    actions += [(TMA, 0), *[(CONSUMER, 0)] * 5]
    state = clicked(page, *actions)
    assert "consumer: index 1, phase 0, count 1\n1 tile multiplied" in state["answer"]
    assert state["grids"][1]["labels"][0][2:] == ["1", "1", "0", "1", "1"]  # both barriers are in their phase 1


FAIRLY = """async ([description, newest, tiles]) => {
  const { Model } = await import("/model.js");
  const model = new Model(description);
  const click = (row, column) => model.send({ grid: 0, row, column });
  for (let n = 0; n < 40 * tiles && !model.state.answer.includes("WRONG"); n++) {
    for (let step = 0; step < 8; step++) click(0, 0);
    const inFlight = model.state.grids[0].labels[1].filter(Boolean).length;
    if (inFlight) click(1, newest ? inFlight - 1 : 0);
    click(2, 0);
  }
  return model.state.answer;
}"""
SHOWS = [  # fault, stages, whether the newest transfer completes first, what it comes to
    *(("nothing", stages, newest, "multiplied") for stages in (1, 2, 3, 4) for newest in (False, True)),
    ("the consumer does not arrive on empty", 1, False, "forever"),
    ("the consumer does not arrive on empty", 4, True, "forever"),
    ("the consumer waits for the other phase", 2, True, "A and B of tile 0 are not there"),
    ("the producer begins with phase 0", 3, False, "forever"),
    ("the producer expects A's bytes alone", 2, False, "forever"),
    ("the producer expects A's bytes alone", 2, True, "forever"),
    ("the producer does not wait for empty", 1, False, "lost"),
    ("the producer does not wait for empty", 2, True, "lost"),
    ("the consumer frees before it is done", 2, False, "overwrites stage 0 while wgmmas still read it"),
]


@pytest.mark.parametrize(("fault", "stages", "newest", "says"), SHOWS)
def test_a_right_ring_goes_on_and_a_broken_one_shows_it(page, fault, stages, newest, says):
    """The two sides and TMA in turn, the consumer slowest."""
    assert {fault for fault, *_ in SHOWS} == set(FAULTS)
    answer = page.evaluate(FAIRLY, [explorer_of("mbarriers", stages, fault).description, newest, 6])
    assert says in answer
    assert ("WRONG" in answer) == (fault != "nothing")
    assert fault != "nothing" or int(answer.splitlines()[-1].split()[0]) > 20


# The widget of a notebook ---------------------------------------------------------------------------------------------

RENDER = """async ([code, description]) => {
  const { default: widget } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const el = document.body.appendChild(document.createElement("div"));
  widget.render({ model: { get: () => description }, el });
  return [el.querySelectorAll("svg").length, el.querySelectorAll("input, select").length];
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_all_modules_of_the_browser_are_one_in_a_notebook(page, kind):
    explorer = explorer_of(kind)
    drawn, inputs = page.evaluate(RENDER, [explorer._esm, explorer.description])
    assert drawn == len(explorer.grids)
    assert inputs == len(explorer.description["inputs"])
