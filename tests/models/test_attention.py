"""The timeline of an SM's tiles of queries."""

import pytest

from tutorlib.models.attention import SmCartoon


@pytest.mark.parametrize("blocks", ["a block for each tile", "persistent"])
def test_a_tile_is_computed_after_its_loads_and_a_warpgroup_has_one_tile_at_a_time(blocks):
    free, loaded = [0, 0], {}
    for span in SmCartoon(blocks, tiles=5).spans:
        if span.kind == "load":
            loaded[span.number] = span.end
        else:
            assert span.begin >= max(free[span.group], loaded[span.number])
            free[span.group] = span.end


def test_a_persistent_block_saves_all_starts_and_loads_but_the_first():
    one, other = (SmCartoon(blocks, tiles=5) for blocks in ("a block for each tile", "persistent"))
    assert one.total - other.total == 4 * (one.start + one.load + one.delay)
