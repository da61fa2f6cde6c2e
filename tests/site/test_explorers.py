"""What an explorer shows in the browser without a kernel is what the explorer in Python shows, state by state."""

import os
import random
from typing import Any

import pytest

from tests.conftest import EVERYTHING
from tests.explorers.clicks import click
from tests.site.conftest import served
from tutorlib.explorers.explorer import BROWSER, Explorer
from tutorlib.site.pages import explorer_data

pytestmark = pytest.mark.browser

TIMES = 10 if os.environ.get(EVERYTHING) else 1
REPLAY = """async (plays) => {
  const { Model } = await import("/model.js");
  return plays.map(({ description, actions }) => {
    const model = new Model(description);
    const states = [structuredClone(model.state)];
    for (const [input, value] of actions) {
      if (input === null) model.send(value);
      else model.change(model.inputs[input], value);
      states.push(structuredClone(model.state));
    }
    return states;
  });
}"""
LAYOUTS = (
    *("(4,3):(3,1)", "(4,3)", "8:2", "8", "(8,)", "1:0", "((2,2),(4,2)):((1,16),(2,8))", "(2,(2,2),3):(6,(3,1),12)"),
    *("(4,8):(8,1)", "(6,2):(8,2)", "(8,64):(64,1)", "(16,16):(0,1)", "(4,4):(-1,4)", "(2,3,4)", "(1,8):(3,1)"),
    *("(3,5):(5,1)", " ( 2 , 2 ) : ( 1 , 2 ) ", "4,3", "(2,2):(1,1)", "((4,2),(2,2))", "(5,3):(4,7)", "(8,32)"),
)
REFUSED = (
    *("(4,3", "4)", "", ":", "(4,3):", "(4,x)", "(4,3):(3,1):2", "(4,0)", "(4,-2)", "(4,3):(1,(2,3))", "()"),
    "(4,(),2)",
    *("(4,,3)", "--3", "04", "(4)(3)", "1 2", "(999,999)", "'", "(1,2)" * 50, ")(", "2,-", "4:4:'\""),
)
TILERS = (
    *("(4,4)", "(2,3)", "4:2", "2", "(2,)", "(1,2)", "(4,4,4)", "((2,2),2)", "2:3", "(2,2):(1,4)"),
    *("3:-1", "(3,5)", "(8,1)"),
)
TEXTS = {
    "layout": [(*LAYOUTS, *REFUSED)],
    "compose": [(*LAYOUTS, "(99,99)"), (*LAYOUTS, "(4,3")],
    "divide": [(*LAYOUTS, "(2"), (*TILERS, "(2", ":")],
    "swizzle": [(*LAYOUTS, "(32,32):(32,1)", "(8,64):(72,1)", "(64,")],
    "tv": [
        ("(2,4):(4,1)", "(8,4):(4,1)", "(4,2)", "(2,4):(8,1)", "8", "((2,2),2)", "(1,1)"),
        ("(1,4):(4,1)", "(2,2)", "(1,1)", "(2,2):(2,1)", "(1,4):(1,2)", "4"),
        ("(8,16)", "(16,32)", "(4,)", "8", "(8,16,2)", "(7,16)", "(99,99)", "((2,4),16)"),
    ],
}
CALLS = {
    "from tutorlib.explorers.layouts import explore_layout\nexplore_layout()": 25,
    'from tutorlib.explorers.layouts import explore_compose\nexplore_compose("(4,8):(8,1)", "8:2")': 60,
    'from tutorlib.explorers.layouts import explore_divide\nexplore_divide("(10,8):(8,1)", "(4,4)")': 60,
    "from tutorlib.explorers.layouts import explore_swizzle\nexplore_swizzle()": 40,
    "from tutorlib.explorers.layouts import explore_tv\nexplore_tv()": 40,
    "from tutorlib.explorers.layouts import explore_tile_space\nexplore_tile_space()": 30,
    "from tutorlib.explorers.pipelines import explore_block_order\nexplore_block_order(12, 10, k=512)": 15,
    "from tutorlib.explorers.pipelines import explore_timeline\nexplore_timeline(tiles=13)": 30,
    "from tutorlib.explorers.pipelines import explore_mbarriers\nexplore_mbarriers()": 400,
}


def state(explorer: Explorer) -> dict[str, Any]:
    return {name: getattr(explorer.grids, name) for name in ("grids", "answer", "problem")}


def drawn(explorer: Explorer, kind: str, steps: int, rng: random.Random) -> tuple[list[Any], list[Any]]:
    """Random actions, as the browser receives them, and the states after none of them, after the first, …"""
    actions, states = [], [state(explorer)]
    for _ in range(steps):
        if rng.random() < (0.97 if kind == "mbarriers" else 0.5):
            grid = rng.randrange(len(explorer.drawn))
            shown = explorer.drawn[grid]
            cell = rng.randrange(shown.rows), rng.randrange(shown.columns)
            click(explorer, grid, *cell)
            actions.append([None, {"grid": grid, "row": cell[0], "column": cell[1]}])
        else:
            n = rng.randrange(len(explorer.inputs))
            value = random_value(explorer.inputs[n], kind, n, rng)
            if value == explorer.inputs[n].value:  # no change, of which neither front end would tell
                continue
            actions.append([n, value])
            explorer.inputs[n].value = value
        states.append(state(explorer))
    return actions, states


def random_value(box: Any, kind: str, n: int, rng: random.Random) -> Any:
    if hasattr(box, "options"):
        return rng.choice(list(box.options.values() if isinstance(box.options, dict) else box.options))
    if hasattr(box, "min"):
        return box.min + box.step * rng.randrange(int((box.max - box.min) / box.step) + 1)
    return rng.choice(TEXTS[kind][n])


def plain(states: list[Any]) -> list[Any]:
    """Lists for tuples; the lines of an outline in one order."""
    return [
        {
            **one,
            "grids": [{**grid, "outline": sorted(map(list, grid["outline"]))} | paired(grid) for grid in one["grids"]],
        }
        for one in states
    ]


def paired(grid: dict[str, Any]) -> dict[str, Any]:
    return {breaks: sorted(map(list, grid[breaks])) for breaks in ("rowBreaks", "columnBreaks")}


def test_the_browser_shows_what_python_shows(browser):
    plays, wanted = [], []
    for call, steps in CALLS.items():
        description = explorer_data(call, [])
        names: dict[str, Any] = {}
        exec(call.replace("\nexplore_", "\nmade = explore_"), names)
        actions, states = drawn(names["made"], description["kind"], steps * TIMES, random.Random(description["kind"]))
        plays.append({"description": description, "actions": actions})
        wanted.append(plain(states))
    with served(BROWSER) as address:
        page = browser.new_page()
        page.goto(f"{address}/")
        found = page.evaluate(REPLAY, plays)
        page.close()
    for play, got, want in zip(plays, map(plain, found), wanted, strict=True):
        for n, (one, other) in enumerate(zip(got, want, strict=True)):
            assert one == other, (play["description"]["kind"], play["actions"][:n])
