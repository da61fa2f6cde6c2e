"""What launches cost: the command keeps what it could measure, and what the page says holds in what was recorded."""

import pytest

from tutorlib.instruments import launches
from tutorlib.instruments.processes import in_a_process
from tutorlib.instruments.sweeps import make_sweep
from tutorlib.instruments.sweeps.attention import shapes
from tutorlib.measuring import recorded


def test_a_process_gives_a_functions_result_or_its_last_line():
    assert in_a_process(shapes) == list(map(list, shapes()))
    with pytest.raises(launches.Failed, match=r"make_sweep: KeyError: 'no such sweep'"):
        in_a_process(make_sweep, "no such sweep")


@pytest.mark.parametrize("found", recorded.records(recorded.LAUNCHES), ids=lambda found: found["machine"]["gpu"])
def test_what_the_page_says_was_measured(found):
    later = found[launches.LATER]
    ways = list(later)
    assert list(map(later.__getitem__, ways[:3])) == sorted(later.values(), reverse=True)[:3]
    assert later["kept, and its views"] < 20
    assert later["kept in a dictionary, TVM-FFI"] < 20
    assert later["kept, TVM-FFI"] < later[launches.TORCH]
    assert found[launches.READY]["loaded"] < found[launches.READY]["compiled and saved"]
