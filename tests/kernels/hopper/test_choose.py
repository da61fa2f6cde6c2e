"""The chooser: what it returns compiles, what it cannot serve it says, and a shape is thought about once."""

import json
from itertools import product
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib.kernels.hopper import choose as chooser
from tutorlib.kernels.hopper.choose import FILE, Constants, ShapeError, candidates, choose, cost, fitted, step_cycles
from tutorlib.kernels.hopper.config import BYTES, HopperConfig
from tutorlib.kernels.hopper.fit import miss, read, regret, usable
from tutorlib.paths import DATA

EDGES = (1, 7, 64, 127, 128, 129, 1000, 4096)
MAJORS = tuple(product(("k", "mn"), repeat=2))
eights = st.integers(1, 1024).map(lambda n: 8 * n)


@settings(max_examples=50)
@given(st.integers(1, 8192), eights, eights)
def test_any_shape_that_tma_takes_has_a_configuration_that_breaks_no_rule(m, n, k):
    config = choose(m, n, k)
    assert list(config.broken_rules()) == []
    assert config in candidates()
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


def test_a_view_of_the_other_major_costs_what_its_lines_do():
    """Whole lines cost the same in either major; rows of K that cross them do, and columns there do not."""
    plain = HopperConfig((128, 256, 64))
    columns = HopperConfig((128, 256, 64), majors=("mn", "mn"))
    assert cost(columns, 4096, 4096, 4096) == cost(plain, 4096, 4096, 4096)
    assert cost(columns, 4096, 4096, 4104) < cost(plain, 4096, 4096, 4104)
    assert cost(columns, 4104, 4096, 4096) > cost(plain, 4104, 4096, 4096)


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
        assert not config.block_scaled


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


def test_blocks_that_are_no_clusters_share_what_l2_sends_while_they_are_in_step():
    """Where L2 is the limit: with the rounds of tiles they fall out of step, and a cluster stays what it is."""

    def step(cluster, rounds):
        return step_cycles(HopperConfig((128, 96, 64), cluster=cluster), (4096, 4096, 4096), 1.0, rounds, fitted())

    assert step((1, 1), 1.0) < step((1, 1), 2.0) < step((1, 1), 8.0)
    assert step((2, 1), 1.0) == step((2, 1), 8.0)


def test_a_gpu_with_fewer_sms_is_slower():
    for config in candidates():
        assert cost(config, 4096, 4096, 4096, sms=114) >= cost(config, 4096, 4096, 4096, sms=132)


def test_the_constants_are_those_of_a_fit_to_the_measurements_that_are_kept():
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert fitted() == Constants(**stored["constants"])
    measured = usable(result for file in (DATA / "explored").glob("*.jsonl.gz") for result in read(file))
    assert stored["points"] == len(measured)
    assert stored["miss"] == pytest.approx(miss(measured, fitted()), abs=1e-3)
    assert median(regret(measured, fitted()).values()) < 1.05
