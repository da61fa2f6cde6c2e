"""Measurements: the arithmetic on times, rates as text, and what is refused."""

import pytest

from tests.stand_ins import copied
from tutorlib.machine.clocks import Clocks
from tutorlib.machine.hardware import HARDWARE
from tutorlib.measuring.bench import Times
from tutorlib.measuring.measurement import Measurement, floor_us, impossible, rate, summarise
from tutorlib.problems.catalogue import copy, gemm, gemm_fp8

GIB = (16384, 16384)  # fp32: 1 GiB read, 1 GiB written


class TestSummary:
    def test_medians_quartiles_and_the_ratio_of_pairs(self):
        times = Times((100.0, 200.0, 300.0, 400.0, 500.0), (90.0, 180.0, 270.0, 360.0, 450.0), (Clocks(1980, ()),))
        m = summarise(times, copy("fp32"), GIB)
        assert (m.lower_us, m.median_us, m.upper_us, m.baseline_us) == (200, 300, 400, 270)
        assert m.ratio == pytest.approx(0.9)
        assert m.spread == pytest.approx(0, abs=1e-9)  # a drift that both share is no noise
        assert m.n == 5
        assert m.clock_mhz == 1980
        assert m.noisy is None

    def test_rates(self):
        times = Times((500.0,) * 4, (500.0,) * 4)
        m = summarise(times, copy("fp32"), GIB)
        assert (m.gbps, m.tflops, m.clock_mhz) == (pytest.approx(2**31 / 500 / 1e3, abs=0.1), None, None)
        m = summarise(times, gemm("bf16"), (4096, 4096, 4096))
        assert (m.gbps, m.tflops) == (None, pytest.approx(2 * 4096**3 / 500e-6 / 1e12, abs=0.01))

    def test_spread_and_heat_are_noise_and_the_text_says_so(self):
        spread = summarise(Times((100.0, 110.0, 120.0, 130.0), (100.0,) * 4), copy("fp32"), GIB)
        assert "the times spread by" in spread.noisy
        assert "Too noisy" in str(spread)
        hot = summarise(Times((500.0,) * 4, (500.0,) * 4, (Clocks(900, ("heat",)),)), copy("fp32"), GIB)
        assert hot.noisy == "the GPU slowed down (heat)"

    def test_text(self):
        m = summarise(Times((500.0,) * 4, (490.0,) * 4), copy("fp32"), GIB)
        assert (
            str(m)
            == repr(m)
            == ("16384×16384 fp32, cool: 500.0 µs (500.0 to 500.0), 4.29 TB/s, 0.980 of torch copy_'s speed")
        )


class TestRoofline:
    @pytest.mark.parametrize(("us", "refused"), [(300.0, True), (440.0, False), (505.0, False)])
    def test_a_time_below_it_is_refused(self, us, refused):
        m = summarise(Times((us,) * 4, (500.0,) * 4), copy("fp32"), GIB)
        assert bool(impossible(m, copy("fp32"), HARDWARE["NVIDIA H200"])) == refused
        assert impossible(m, copy("fp32"), None) is None

    def test_a_gemm_of_fp8_has_the_roof_of_fp8(self):
        h200, shape = HARDWARE["NVIDIA H200"], (8192,) * 3
        assert floor_us(gemm_fp8(), shape, h200) == pytest.approx(2 * 8192**3 / 1979e12 * 1e6)
        assert summarise(Times((900.0,) * 4, (900.0,) * 4), gemm_fp8(), shape).dtype == "e4m3"


class TestAsJson:
    def test_it_is_read_back_the_same(self):
        measured = copied(0.95, throttled=("heat",))
        assert Measurement.from_json(measured.as_json()) == measured

    def test_what_is_not_known_is_left_out(self):
        assert {"gbps", "tflops"} & copied(0.95).as_json().keys() == {"gbps"}

    def test_a_file_that_lacks_a_field_is_refused(self):
        cut = {key: value for key, value in copied(0.95).as_json().items() if key != "ratio"}
        with pytest.raises(TypeError, match="ratio"):
            Measurement.from_json(cut)


@pytest.mark.parametrize(
    ("tflops", "gbps", "text"),
    [(769.4, None, "769 TFLOP/s"), (1234.0, None, "1,234 TFLOP/s"), (None, 4294.9, "4.29 TB/s")],
)
def test_a_rate_is_written_in_one_way(tflops, gbps, text):
    assert rate(tflops, gbps) == text
