"""Wrong Hopper kernels: the right package with one named change, as a package of its own.

`build(WRONG["wrong phase"]).launcher(config, m, n, k)` launches it as the right one's `launch.launcher` does. Some of
them hang and some leave the GPU's context unusable: run each in a process of its own, with a time limit.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import tutorlib.kernels.hopper as right
from tests.pages.change import Change, DoesNotApply, place, swap, without
from tutorlib.compiling.source_files import lasting_folder
from tutorlib.kernels.hopper.config import HopperConfig

FOLDER = Path(right.__file__).parent


@dataclass(frozen=True)
class WrongKernel:
    """says: what is wrong. place: "module:function" or "module:Class.method" that is changed. settings: under which
    it shows, for HopperConfig.
    """

    says: str
    place: str
    change: Change
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> HopperConfig:
        return HopperConfig(**self.settings)


def swap_two(one: str, other: str) -> Change:
    """Put each in the other's place."""

    def change(lines: list[str]) -> list[str]:
        places = {place(lines, one): (one, other), place(lines, other): (other, one)}
        return [line.replace(*places[n]) if n in places else line for n, line in enumerate(lines)]

    return change


PAIR = {"cluster": (2, 1)}
SPLIT = {"tile": (64, 64, 64), "persistent": False, "split_k": 4}
WRONG = {
    "wrong phase": WrongKernel(
        "waits for the phase of a stage that is already over, and multiplies what was there before",
        "gemm:Multiply.step",
        swap("wait_full(state.index, state.phase)", "wait_full(state.index, state.phase ^ 1)"),
    ),
    "no fence before the stores": WrongKernel(
        "TMA may store what was in shared memory before stmatrix wrote there",
        "parts:store_pieces",
        without("fence_proxy"),
    ),
    "no fence before the first wgmma": WrongKernel(
        "wgmma may read accumulators before the registers are written",
        "gemm:Multiply.step",
        without("warpgroup.fence()"),
    ),
    "no wait for wgmma": WrongKernel(
        "gives stages back and stores accumulators while wgmma is still at them",
        "gemm:Multiply.retire",
        without("warpgroup.wait_group(pending)"),
    ),
    "expects too few bytes": WrongKernel(
        "a stage is full when half of it has arrived",
        "pipeline:Loads.issue",
        swap("arrive_and_expect_tx(full, self.stage_bytes)", "arrive_and_expect_tx(full, self.stage_bytes // 2)"),
    ),
    "overwrites a stage": WrongKernel(
        "loads into a stage that has not been read",
        "pipeline:Loads.issue",
        without("self.ring.wait_empty(stage, phase)"),
    ),
    "registers the wrong way round": WrongKernel(
        "the producer takes registers, and the warpgroups that multiply give theirs away",
        "parts:take_roles",
        swap_two("decrease(registers[0])", "increase(registers[1])"),
        {"defer_stores": True},
    ),
    "arrives too early": WrongKernel(
        "tells the other block of its cluster that a stage is read before that block has made its mbarriers",
        "pipeline:start",
        without("cute.arch.cluster_wait()"),
        PAIR,
    ),
    "leaves too early": WrongKernel(
        "ends while the other block of its cluster still tells it what has been read",
        "pipeline:Loads.finish",
        swap("self.ring.wait_empty(state.index, state.phase)", "pass"),
        PAIR,
    ),
    "adds before it is given": WrongKernel(
        "adds up what lies where the other blocks' accumulators have yet to come",
        "epilogue:Exchange.add",
        without("wait(self.arrived"),
        SPLIT,
    ),
    "gives to the wrong place": WrongKernel(
        "two blocks of a cluster give their accumulators to one place of the block that adds them",
        "epilogue:Exchange.give",
        swap("place = self.me.part - Int32(self.me.part > part)", "place = self.me.part // 2"),
        SPLIT,
    ),
    "stores before the wait": WrongKernel(
        "rounds and stores a tile's accumulators while its last wgmma adds to them",
        "parts:consume_tiles",
        swap_two("multiply.retire(0, before)", "out.round_and_store(number)"),
    ),
}


def changed(source: str, name: str, change: Change) -> str:
    """The text of a module with a function, or a class's method, changed."""
    body: list[ast.stmt] = ast.parse(source).body
    for part in name.split("."):
        found = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part]
        if len(found) != 1:
            raise DoesNotApply(f"{len(found)} of {part!r}")
        body = found[0].body
    lines, first, last = source.split("\n"), found[0].lineno - 1, found[0].end_lineno
    return "\n".join([*lines[:first], *change(lines[first:last]), *lines[last:]])


def build(wrong: WrongKernel) -> ModuleType:
    """`launch` of a copy of the package that has the change. Raises DoesNotApply."""
    module, function = wrong.place.split(":")
    parent = lasting_folder()
    package = f"wrong_{parent.name.replace('-', '_')}"
    folder = parent / package
    folder.mkdir()
    for file in FOLDER.iterdir():
        if file.suffix in (".py", ".json"):
            text = file.read_text(encoding="utf-8").replace(right.__name__, package)
            if file.stem == module:
                text = changed(text, function, wrong.change)
            (folder / file.name).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(parent))
    try:
        return importlib.import_module(f"{package}.launch")
    finally:
        sys.path.remove(str(parent))


def own(launch: ModuleType, config: HopperConfig) -> Any:
    """The same configuration as the copy's own class."""
    return sys.modules[launch.__package__ + ".config"].HopperConfig(**vars(config))


def launcher(wrong: WrongKernel, m: int, n: int, k: int) -> Callable[..., None]:
    """launch(a, b, c), on a Hopper GPU."""
    launch = build(wrong)
    return launch.launcher(own(launch, wrong.config), m, n, k)
