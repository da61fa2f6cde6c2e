"""Clock, power and energy of a stretch of work, from readings of the driver."""

import time

import pytest

from tutorlib.machine import power
from tutorlib.machine.clocks import Clocks
from tutorlib.machine.power import Draw, Meter, Reading, draw_of, mean_watts

LOOKS = 10_000
HELD = Clocks(1500, (), power_limited=True)


def readings(*joules, every=0.01):
    return [Reading(n * every, HELD, one) for n, one in enumerate(joules)]


class TestPower:
    def test_is_energy_over_time_between_steps_of_the_counter(self):
        # 700 W: the counter moves every 30 ms by 21 J, and reading begins and ends between two of its steps
        found = readings(100, 100, 121, 121, 121, 142, 142, 142, 163, 163, 163)
        assert mean_watts(found) == pytest.approx(700)
        assert mean_watts(found[:-1]) == mean_watts(found)

    @pytest.mark.parametrize("joules", [(), (5.0,), (5.0, 5.0, 5.0), (5.0, 6.0, 6.0), (None, None, None)])
    def test_one_step_of_the_counter_is_no_measurement(self, joules):
        assert mean_watts(readings(*joules)) is None

    def test_a_draw_is_the_median_clock_and_whether_power_held_it(self):
        mixed = [Reading(n, clocks, None) for n, clocks in enumerate((Clocks(1980, ()), HELD, HELD))]
        assert draw_of(mixed) == Draw(1500, None, True)
        assert draw_of(mixed[:2]) == Draw(1740, None, False)
        assert draw_of([]) is None


class TestMeter:
    def test_it_reads_until_the_block_ends(self, monkeypatch):
        monkeypatch.setattr(power, "clocks", lambda: Clocks(1980, ()))
        monkeypatch.setattr(power, "joules", lambda: 5.0)
        with Meter() as meter:
            for _ in range(LOOKS):
                if len(meter.readings) >= 2:
                    break
                time.sleep(0.001)
        read = len(meter.readings)
        assert read >= 2
        assert meter.readings[0][1:] == (Clocks(1980, ()), 5.0)
        time.sleep(5 * power.EVERY_S)
        assert len(meter.readings) == read

    def test_where_the_driver_does_not_answer_there_is_nothing_to_read(self, monkeypatch):
        monkeypatch.setattr(power, "clocks", lambda: None)
        with Meter() as meter:
            pass
        assert draw_of(meter.readings) is None
