"""The chooser: what it returns compiles, what it cannot serve it says, and a shape is thought about once."""

import json
from dataclasses import replace
from itertools import product
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib.instruments.fit_hopper import miss, read, regret, usable
from tutorlib.kernels.hopper import choose as chooser
from tutorlib.kernels.hopper.choose import (
    FILE,
    Constants,
    ShapeError,
    candidates,
    choose,
    cost,
    cut_tiles,
    fitted,
    in_squares,
)
from tutorlib.kernels.hopper.config import BYTES, HopperConfig
from tutorlib.models.l2 import grouped
from tutorlib.paths import DATA

EDGES = (1, 7, 64, 127, 128, 129, 1000, 4096)
MAJORS = tuple(product(("k", "mn"), repeat=2))
eights = st.integers(1, 1024).map(lambda n: 8 * n)


@settings(max_examples=50)
@given(st.integers(1, 8192), eights, eights)
def test_any_shape_that_tma_takes_has_a_configuration_that_breaks_no_rule(m, n, k):
    config = choose(m, n, k)
    assert list(config.broken_rules()) == []
    assert replace(config, group=8, l2_a="normal", l2_b="normal") in candidates()
    assert cost(config, m, n, k) == min(cost(other, m, n, k) for other in candidates()) < float("inf")


@settings(max_examples=25)
@given(st.integers(1, 1024), st.integers(1, 8192), st.integers(1, 1024), st.sampled_from(MAJORS))
def test_majors_are_kept_and_lines_of_l2_stay_whole(m, n, k, majors):
    """Each extent that must be a multiple of 8 is one: C's N, and what is contiguous in A and in B."""
    m, n, k = 8 * m if majors[0] == "mn" else m, 8 * -(-n // 8), 8 * k if "k" in majors else k
    config = choose(m, n, k, majors=majors)
    assert config.callers_majors == majors
    assert list(config.broken_rules()) == []
    for mode, major in enumerate(config.majors):
        assert config.tile[2 if major == "k" else mode] % 64 == 0


@pytest.mark.parametrize(("majors", "line"), [
    (("mn", "k"), "M = 7: a column of 14 bytes, and TMA takes multiples of 16; pad M with zeros to 8"),
    (("k", "mn"), "N = 7: a row of 14 bytes, and TMA takes multiples of 16; pad N with zeros to 8"),
])  # fmt: skip
def test_what_tma_cannot_take_of_a_view_is_named(majors, line):
    with pytest.raises(ShapeError, match=f"^{line}$"):
        choose(7, 7, 8, majors=majors)


@pytest.mark.parametrize("dtype", BYTES)
def test_every_candidate_is_a_configuration_of_its_dtype(dtype):
    for config in candidates(dtype):
        assert HopperConfig(**vars(config)) == config
        assert config.dtype == dtype


@pytest.mark.parametrize("dtype", ["bf16", "e4m3"])
def test_what_tma_cannot_take_is_refused_with_the_reason(dtype):
    unit = 16 // BYTES[dtype]
    for m, n, k in product(EDGES, repeat=3):
        if k % unit == 0 and n % 8 == 0:
            assert choose(m, n, k, dtype=dtype).dtype == dtype
            continue
        with pytest.raises(ShapeError) as refused:
            choose(m, n, k, dtype=dtype)
        name, size, step = ("K", k, unit) if k % unit else ("N", n, 8)
        assert str(refused.value).startswith(f"{name} = {size}: a row of ")
        assert str(refused.value).endswith(f"pad {name} with zeros to {-(-size // step) * step}")


def test_nothing_to_multiply_is_refused():
    with pytest.raises(ShapeError, match="there is nothing to multiply"):
        choose(128, 0, 64)


def test_a_known_shape_is_not_thought_about_again(monkeypatch):
    calls = []
    monkeypatch.setattr(chooser, "cost", lambda *args: calls.append(args) or cost(*args))
    shape = (1016, 2040, 776)  # of no other test
    first = choose(*shape)
    assert len(calls) == len(candidates())
    assert choose(*shape) is first
    assert len(calls) == len(candidates())


def test_weights_leave_l2_first_where_few_rows_are_multiplied():
    """B's lines, which are A's where A and B have changed places; never those of the other matrix."""
    for m in (1, 64, 256, 512):
        config = choose(m, 7168, 8192)
        of_weights, of_rows = (config.l2_a, config.l2_b) if config.transposed else (config.l2_b, config.l2_a)
        assert (of_weights, of_rows) == ("evict_first", "normal")
    assert {choose(m, 7168, 8192).l2_b for m in (2048, 4096, 8192)} == {"normal"}


@pytest.mark.parametrize("transposed", [False, True])
def test_tiles_that_run_at_once_come_in_squares(transposed):
    """The first 16 blocks compute 4×4 tiles; not with a second wave, a cluster, at most four rows, or a narrow band."""
    config = HopperConfig((64, 128, 64), transposed=transposed, majors=("k", "k"))
    for rows, columns, squares in (
        (8, 16, True), (33, 4, True), (4, 32, False), (12, 11, True), (12, 12, False), (13, 9, False)
    ):  # fmt: skip
        m, n = (128 * columns, 64 * rows) if transposed else (64 * rows, 128 * columns)
        band = in_squares(config, m, n, sms=132).group
        assert (band == 4) == squares
        if squares and rows * columns >= 16:
            first = [grouped(block, rows, columns, band) for block in range(16)]
            assert [len(set(numbers)) for numbers in zip(*first, strict=True)] == [4, 4]
    clustered = replace(config, cluster=(2, 1))
    assert in_squares(clustered, 512, 512, sms=132) == clustered


@pytest.mark.parametrize(
    ("tiles", "clusters", "cut"),
    [(132, 132, 0), (264, 132, 0), (50, 132, 50), (200, 132, 68), (140, 132, 140), (133, 66, 67), (1, 66, 1)],
)
def test_stream_k_cuts_up_what_fills_no_wave_and_a_wave_more_where_that_is_little(tiles, clusters, cut):
    assert cut_tiles(tiles, clusters) == cut


def test_the_constants_are_those_of_a_fit_to_the_measurements_that_are_kept():
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert fitted() == Constants(**stored["constants"])
    measured = usable(result for file in (DATA / "explored").glob("*.jsonl.gz") for result in read(file))
    assert stored["points"] == len(measured)
    assert stored["miss"] == pytest.approx(miss(measured, fitted()), abs=1e-3)
    assert median(regret(measured, fitted()).values()) < 1.05
