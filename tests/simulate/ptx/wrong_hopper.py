"""Wrong Hopper kernels: the right package with one named change, as a package of its own.

What pages 13 and 14 leave to their readers has its wrong answers there; these are in the course's part of the kernel.
"""

import ast
import importlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import tutorlib.kernels.hopper as right
from tests.pages.change import Change, DoesNotApply, swap, without
from tutorlib.compiling.dsls import lasting_folder
from tutorlib.kernels.hopper.config import HopperConfig

FOLDER = Path(right.__file__).parent


@dataclass(frozen=True)
class WrongKernel:
    """place: "module:function" or "module:Class.method" that is changed.

    found: the finding's kind, a part of what it says, and of the line that it names.
    settings: under which it shows, for HopperConfig.
    """

    place: str
    change: Change
    found: tuple[str, str, str]
    settings: dict[str, Any] = field(default_factory=dict)


PAIR = {"cluster": (2, 1)}
SPLIT = {"tile": (64, 64, 64), "persistent": False, "split_k": 4}
WRONG = {
    "wrong phase": WrongKernel(
        "gemm:Multiply.step",
        swap("wait_full(state.index, state.phase)", "wait_full(state.index, state.phase ^ 1)"),
        ("unwaited", "wgmma of warpgroup 0 of block 0 reads shared memory into which the TMA copy", "cute.gemm("),
    ),
    "arrives before the other block has initialized its mbarriers": WrongKernel(
        "pipeline:start",
        without("cute.arch.cluster_wait()"),
        ("race", "waits for the mbarrier at byte", "mbarrier_wait(mbarrier, phase)"),
        PAIR,
    ),
    "ends while the other block still arrives at its mbarriers": WrongKernel(
        "pipeline:Loads.finish",
        swap("self.ring.wait_empty(state.index, state.phase)", "pass"),
        ("mbarrier", "may end before block 1 of its cluster has arrived", "mbarrier_init(self.empty"),
        PAIR,
    ),
    "adds accumulators that have not arrived": WrongKernel(
        "epilogue:Exchange.add",
        without("wait(self.arrived"),
        ("unwaited", "into which the st.async at line", "self.given[None, four, thread, place].load()"),
        SPLIT,
    ),
    "two blocks give their accumulators to one place": WrongKernel(
        "epilogue:Exchange.give",
        swap("place = self.me.part - Int32(self.me.part > part)", "place = self.me.part // 2"),
        ("unwaited", "into which the st.async at line", "cute.arch.store_async_dsmem("),
        SPLIT,
    ),
}


def changed(source: str, name: str, change: Change) -> str:
    """The text of a module with a function, or a class's method, changed. Raises DoesNotApply."""
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


def config_of(launch: ModuleType, wrong: WrongKernel) -> HopperConfig:
    """The configuration, of the copy's own class."""
    return sys.modules[launch.__package__ + ".config"].HopperConfig(**wrong.settings)
