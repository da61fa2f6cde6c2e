"""Models of a GEMM: L2's traffic, who computes which tiles."""

from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib.kernels.ladder import in_eights
from tutorlib.models.hopper_gemm import stream_k, whole_tiles
from tutorlib.models.l2 import Lru, blocks, coverage, grouped, raster, timetable, traffic, waves

grids = st.tuples(st.integers(1, 40), st.integers(1, 40))
orders = st.sampled_from([raster, in_eights, *(partial(grouped, group=group) for group in (1, 2, 3, 5, 8, 16))])
MB = 2**20


def cuda_grid(x, y):
    """Blocks in the order in which they start: blockIdx.x runs fastest."""
    return [(bx, by) for by in range(y) for bx in range(x)]


class TestOrders:
    @given(grids, orders)
    def test_every_tile_is_computed_once(self, grid, order):
        assert all(len(blocks) == 1 for blocks in coverage(grid, order).values())
        assert len(coverage(grid, order)) == grid[0] * grid[1]

    @given(grids)
    def test_raster_is_the_order_of_a_launch(self, grid):
        assert blocks(grid, raster) == cuda_grid(*grid)

    @given(grids, st.integers(1, 16))
    def test_a_group_is_a_strip_column_by_column(self, grid, group):
        rows, columns = grid
        strips = [
            (m, n) for top in range(0, rows, group) for n in range(columns) for m in range(top, min(top + group, rows))
        ]
        assert blocks(grid, partial(grouped, group=group)) == strips


def by_definition(grid, order, k_tiles, tile_bytes, in_flight, l2):
    """Bytes fetched by waves in lockstep: every single load of every block, its reuse distance counted out."""
    size = {"A": tile_bytes[0], "B": tile_bytes[1]}
    history, fetched = [], 0
    for wave in waves(grid, order, in_flight):
        for k in range(k_tiles):
            for m, n in wave:
                for key in (("A", m, k), ("B", n, k)):
                    since = {key, *history[len(history) - history[::-1].index(key) :]} if key in history else None
                    if since is None or sum(size[name] for name, *_ in since) > l2:
                        fetched += size[key[0]]
                    history.append(key)
    return fetched


class TestTraffic:
    @settings(max_examples=40)
    @given(
        st.tuples(st.integers(1, 8), st.integers(1, 8)), orders, st.integers(1, 4),
        st.sampled_from([(1, 1), (2, 2), (3, 3)]), st.integers(1, 20), st.integers(3, 60),
    )  # fmt: skip
    def test_a_tile_hits_when_what_was_used_since_fits(self, grid, order, k_tiles, tile_bytes, in_flight, room):
        found = traffic(grid, order, k_tiles, tile_bytes, in_flight, room)
        assert found.fetched == by_definition(grid, order, k_tiles, tile_bytes, in_flight, room)

    @given(grids, orders, st.integers(1, 300))
    def test_a_cache_for_everything_fetches_the_least(self, grid, order, in_flight):
        found = traffic(grid, order, 2, (16, 32), in_flight, 2**40)
        assert found.fetched == found.least == 2 * (16 * grid[0] + 32 * grid[1])
        assert found.requested == 2 * (16 + 32) * grid[0] * grid[1]

    def test_groups_fetch_less_than_raster_on_a_large_grid(self):
        """Notebook 12's grid: 8192³ in tiles of 128×128×64, two blocks on each of an H200's SMs."""
        h200 = {"k_tiles": 128, "tile_bytes": (16384, 16384), "in_flight": 264, "l2": 60 * MB}
        assert traffic((64, 64), grouped, **h200).fetched < 0.7 * traffic((64, 64), raster, **h200).fetched
        apart = {**h200, "l2": 30 * MB, "drift": 0.125}
        assert traffic((64, 64), grouped, **apart).fetched < 0.3 * traffic((64, 64), raster, **apart).fetched

    @given(st.integers(1, 30), st.integers(1, 8), st.integers(1, 40), st.floats(0, 1))
    def test_every_block_makes_every_step_in_order_and_no_more_run_than_fit(self, blocks, steps, in_flight, drift):
        events = list(zip(*timetable(blocks, steps, in_flight, drift), strict=True))
        for block in range(blocks):
            assert [step for who, step in events if who == block] == list(range(steps))
        running = set()
        for block, step in events:
            running.add(block)
            assert len(running) <= in_flight
            if step == steps - 1:
                running.remove(block)

    def test_the_cache_drops_what_was_used_longest_ago(self):
        cache = Lru(30)
        assert [cache.load(tile, 10) for tile in (1, 2, 3, 1, 4)] == [10, 10, 10, 0, 10]
        assert [cache.load(tile, 10) for tile in (1, 3, 4, 2)] == [0, 0, 0, 10]


sizes = st.integers(1, 15)


def covered(split, clusters, tiles, k_tiles):
    return sorted(
        (tile, k)
        for cluster in range(clusters)
        for tile, begin, end in split(cluster, clusters, tiles, k_tiles)
        for k in range(begin, end)
    )


@given(sizes, sizes, sizes)
def test_both_ways_cover_every_k_tile_once(clusters, tiles, k_tiles):
    everything = [(tile, k) for tile in range(tiles) for k in range(k_tiles)]
    for split in (whole_tiles, stream_k):
        assert covered(split, clusters, tiles, k_tiles) == everything


@given(sizes, sizes, sizes)
def test_streams_are_even_and_cut_no_more_than_needed(clusters, tiles, k_tiles):
    shares = [stream_k(cluster, clusters, tiles, k_tiles) for cluster in range(clusters)]
    lengths = [sum(end - begin for _, begin, end in items) for items in shares]
    assert max(lengths) - min(lengths) <= 1
    assert lengths == sorted(lengths, reverse=True)
    assert sum(map(len, shares)) <= tiles + clusters - 1
