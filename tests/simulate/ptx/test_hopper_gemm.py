"""The course's Hopper GEMMs on the simulator: right ones equal torch and are reported as nothing, wrong ones are."""

import ast
import importlib
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import cuda.bindings.driver as cuda
import pytest
import torch
from cutlass import Float8E4M3FN, Int32, cute
from cutlass.cute.runtime import from_dlpack, make_fake_stream

import tutorlib.kernels.hopper as right
from tests.pages.change import Change, DoesNotApply, swap, without
from tutorlib.compiling.dsls import lasting_folder
from tutorlib.kernels.hopper import launch, tune
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.simulate import simulate
from tutorlib.simulate.ptx import Report
from tutorlib.simulate.ptx.languages.cute import Traced, compile_with_lines, simulate_host

TARGET = "sm_90a"
ARGUMENTS = ("a", "b", "c", "scale_a", "scale_b", "acc", "flags", "operand")
SCALE = 0.75
TORCH = tune.DTYPES


def compile_config(config: HopperConfig, package: ModuleType = launch) -> Traced:
    """The host function for matrices of any shape. package: `kernels.hopper.launch`, or that of a changed copy."""
    return compile_with_lines(package.make_gemm(config), [*package.fakes(config), Int32(1), make_fake_stream()], TARGET)


compiled_once = cache(compile_config)


def simulate_gemm(
    config: HopperConfig, shape: tuple[int, int, int], clusters: int, compiled: Traced | None = None
) -> tuple[torch.Tensor, torch.Tensor, Report]:
    """(C, what torch says it is, the report). clusters: that the GPU holds at a time."""
    m, n, k = shape
    generator = torch.Generator().manual_seed(m * 7 + n * 3 + k)
    a, b = (
        in_major(torch.randn(rows, k, generator=generator).to(TORCH[config.dtype]), major)
        for rows, major in zip((m, n), config.callers_majors, strict=True)
    )
    c = torch.full((m, n), torch.nan, dtype=TORCH[config.c_dtype])
    of_a, of_b = (torch.tensor([SCALE]), torch.tensor([1.0])) if config.scaled else (None, None)
    given: dict[str, Any] = {"a": a, "b": b, "c": c, "scale_a": of_a, "scale_b": of_b}
    if config.transposed:
        given = {"a": b, "b": a, "c": c.T, "scale_a": of_b, "scale_b": of_a}
    tensors = {name: x for name, x in given.items() if x is not None} | room_for_accumulators(config, clusters)
    arguments = [dlpack(tensors[name]) if name in tensors else None for name in ARGUMENTS]
    arguments += [clusters, cuda.CUstream(0)]
    (report,) = simulate_host(compiled or compiled_once(config), dict(tensors), arguments)
    if config.stream_k:
        assert not tensors["flags"].any()
    return c, a.float() @ b.float().T * (SCALE if config.scaled else 1), report


def dlpack(tensor: torch.Tensor) -> Any:
    """A cute.Tensor of dynamic shape, which the simulator takes in place of torch's."""
    fp8 = tensor.dtype == torch.float8_e4m3fn
    made = from_dlpack(tensor.view(torch.uint8) if fp8 else tensor, assumed_align=16)
    if fp8:
        made.element_type = Float8E4M3FN
    return made.mark_layout_dynamic(leading_dim=tensor.stride().index(1))


def room_for_accumulators(config: HopperConfig, clusters: int) -> dict[str, torch.Tensor]:
    """NaN, and zeroed flags, where blocks share tiles."""
    if not config.stream_k:
        return {}
    blocks = clusters * config.cluster_size
    acc = torch.full((blocks * config.tile[0] * config.tile[1],), torch.nan)
    return {"acc": acc, "flags": torch.zeros(blocks * config.threads // 32, dtype=torch.int32)}


def in_major(matrix: torch.Tensor, major: str) -> torch.Tensor:
    """The same matrix, whose rows are contiguous; "mn": its columns."""
    return matrix if major == "k" else matrix.mT.contiguous().mT


def worst(c: torch.Tensor, want: torch.Tensor, k: int) -> float:
    """The largest error, beside what rounding C may do; infinite where nothing was written."""
    return float(((c.float() - want).abs() / (want.abs() + k**0.5)).nan_to_num(nan=torch.inf).max())


# wrong kernels --------------------------------------------------------------------------------------------------------

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


# tests ----------------------------------------------------------------------------------------------------------------

SMALL, E4M3 = {"tile": (128, 128, 64)}, {"dtype": "e4m3"}
CASES = {  # configuration, shape (M, N, K), clusters that the GPU holds
    "cooperative": ({}, (300, 520, 200), 3),
    "ping-pong": (SMALL | {"schedule": "pingpong"}, (400, 304, 392), 2),
    "2×2, snake": (SMALL | {"cluster": (2, 2), "group": 2, "snake": True}, (504, 704, 264), 2),
    "polls, zigzag, deferred, 2×1": (
        SMALL | {"polls": True, "zigzag": True, "defer_stores": True, "cluster": (2, 1)}, (504, 304, 264), 2
    ),
    "stream-K": (SMALL | {"stream_k": True}, (304, 504, 1000), 3),
    "split-K": ({"tile": (64, 64, 64), "split_k": 4, "persistent": False}, (200, 104, 1000), 3),
    "split-K of 3, 2 receivers": ({"tile": (64, 32, 64), "split_k": 3, "persistent": False}, (72, 72, 456), 3),
    "fp16, hints": ({"dtype": "fp16", "l2_a": "evict_last"}, (129, 200, 72), 2),
    "A by columns, ping-pong": (SMALL | {"majors": ("mn", "k"), "schedule": "pingpong"}, (200, 264, 72), 2),
    "B by columns, 2×2": (SMALL | {"majors": ("k", "mn"), "cluster": (2, 2), "zigzag": True}, (264, 200, 72), 2),
    "both by columns, stream-K": (
        {"tile": (128, 80, 64), "majors": ("mn", "mn"), "stream_k": True}, (136, 232, 263), 3
    ),
    "both by columns, transposed, split-K": (
        {"tile": (64, 96, 64), "majors": ("mn", "mn"), "transposed": True, "split_k": 2, "persistent": False},
        (136, 104, 263), 2
    ),
    "fp8, a scale each, transposed": (
        E4M3 | {"tile": (256, 160, 128), "scaled": True, "transposed": True}, (129, 200, 144), 2
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_configuration_equals_torch_and_nothing_is_reported(name):
    settings, shape, clusters = CASES[name]
    c, want, report = simulate_gemm(HopperConfig(**settings), shape, clusters)
    assert worst(c, want, shape[2]) < 0.01
    assert not report.findings


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernels_are_told_with_the_line_and_the_cause(name):
    wrong = WRONG[name]
    package = build(wrong)
    config = config_of(package, wrong)
    *_, report = simulate_gemm(config, (300, 520, 456), 2, compile_config(config, package))
    kind, says, line = wrong.found
    told = [str(finding) for finding in report.findings if finding.kind == kind]
    assert any(says in text and line in text.rpartition(" (line ")[2] for text in told), told


@cute.kernel
def starts_the_next(x: cute.Tensor, y: cute.Tensor):
    row, _, _ = cute.arch.thread_idx()
    cute.arch.griddepcontrol_launch_dependents()
    for column in range(y.shape[1]):
        y[row, column] = x[row, column]


@pytest.mark.parametrize("waits", [True, False])
def test_it_waits_for_the_kernel_before_it(waits):
    wrong = WrongKernel("pipeline:start", swap("cute.arch.griddepcontrol_wait()", "pass"), (), {"tile": (64, 64, 64)})
    package = launch if waits else build(wrong)
    gemm = sys.modules[package.__package__ + ".gemm"]
    config, beside = config_of(package, wrong), gemm.Beside(None, None, None, None)

    @cute.jit
    def host(x: cute.Tensor, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        starts_the_next(x, a).launch(grid=(1, 1, 1), block=(64, 1, 1))
        gemm.launch_gemm(a, b, c, beside, Int32(1), config)

    x, b = (torch.randn(64, 64).bfloat16() for _ in range(2))
    a, c = torch.zeros_like(x), torch.zeros_like(x)
    first, second = simulate(host, x, a, b, c, arch="90a").launches
    assert not first.findings
    if waits:
        assert not second.findings
        assert worst(c, x.float() @ b.float().T, 64) < 0.01
    else:
        assert {finding.kind for finding in second.findings} == {"race"}
        assert "no griddepcontrol.wait lies between" in str(second.findings[0])
