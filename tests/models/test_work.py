"""How tiles go to clusters: everything once, evenly."""

from hypothesis import given
from hypothesis import strategies as st

from tutorlib.models.work import stream_k, whole_tiles

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
