"""The course's Hopper GEMMs on the simulator: right ones equal torch and are reported as nothing, wrong ones are."""

import pytest

from tests.simulate.ptx.hopper_gemm import simulate_gemm, worst
from tests.simulate.ptx.wrong_hopper import WRONG, build, config_of
from tutorlib.exercises.judges.p14 import compile_config
from tutorlib.kernels.hopper.config import HopperConfig

SMALL, E4M3 = {"tile": (128, 128, 64)}, {"dtype": "e4m3"}
CASES = {  # configuration, shape (M, N, K), clusters that the GPU holds
    "cooperative": ({}, (300, 520, 200), 3),
    "plain, persistent": (SMALL | {"schedule": "plain", "stages": 3}, (400, 304, 328), 2),
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
