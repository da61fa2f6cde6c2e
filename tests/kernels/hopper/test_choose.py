"""The chooser: what it returns compiles, what it cannot serve it says, and a shape is thought about once."""

import json
from itertools import product
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutorlib.kernels.hopper import choose as chooser
from tutorlib.kernels.hopper.choose import FILE, Constants, ShapeError, candidates, choose, cost, fitted
from tutorlib.kernels.hopper.config import BYTES, HopperConfig
from tutorlib.kernels.hopper.fit import miss, read, regret, usable
from tutorlib.paths import DATA

EDGES = (1, 7, 64, 127, 128, 129, 1000, 4096)
eights = st.integers(1, 1024).map(lambda n: 8 * n)


@given(st.integers(1, 8192), eights, eights)
def test_any_shape_that_tma_takes_has_a_configuration_that_breaks_no_rule(m, n, k):
    config = choose(m, n, k)
    assert list(config.broken_rules()) == []
    assert config in candidates()
    assert cost(config, m, n, k) == min(cost(other, m, n, k) for other in candidates()) < float("inf")


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
