"""Hopper's configurations: what follows, what breaks a rule, what is chosen, what is compiled."""

import json
from dataclasses import fields, replace
from itertools import product
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chooser.fit import miss, read, regret, usable
from tutorlib.compiling import programs
from tutorlib.compiling.programs import resources
from tutorlib.kernels.hopper import choose as chooser
from tutorlib.kernels.hopper.choose import ShapeError, candidates, choose, in_bands, short_list
from tutorlib.kernels.hopper.config import BYTES, ConfigError, HopperConfig
from tutorlib.kernels.hopper.cost import FILE, Constants, cost, cut_tiles, fitted
from tutorlib.kernels.hopper.launch import compile_gemm
from tutorlib.models.l2 import grouped
from tutorlib.paths import DATA

SMALL, PING = {"tile": (128, 128, 64)}, {"tile": (128, 128, 64), "schedule": "pingpong"}
SPLIT = {"tile": (128, 128, 64), "persistent": False, "split_k": 2}

# What is refused, and how the sentence begins.
BROKEN = [
    ({"tile": (96, 256, 64)}, "tile M = 96: a wgmma computes 64 rows"),
    ({"tile": (0, 256, 64)}, "tile M = 0: a wgmma computes 64 rows"),
    ({"tile": (128, 264, 64)}, "tile N = 264: a wgmma has at most 256 columns"),
    ({"tile": (128, 24, 64)}, "tile N = 24: a wgmma has at most 256 columns"),
    ({"tile": (128, 128, 48)}, "tile K = 48: a row must fill 64 or up to four times 128 bytes"),
    ({"tile": (512, 64, 64)}, "tile M = 512: a TMA box has at most 256 rows"),
    (PING | {"warpgroups": 3}, "warpgroups = 3: ping-pong takes exactly 2"),
    ({"tile": (256, 64, 64), "warpgroups": 4}, "warpgroups = 4: 1 to 3 can multiply"),
    ({"cluster": (3, 1)}, "cluster = (3, 1): each side is 1, 2, 4 or 8"),
    ({"cluster": (4, 4)}, "cluster = (4, 4): each side is 1, 2, 4 or 8"),
    ({"tile": (128, 144, 64), "cluster": (4, 1)}, "cluster = (4, 1): a block's part of a shared load"),
    ({"store_stages": -1}, "store_stages = -1: it is a whole number, 1 or more"),
    ({"stages": 1}, "1 stages: loads can only run ahead"),
    ({"stages": 6}, "shared memory: "),
    ({"tile": (256, 256, 64)}, "registers: 256 for results"),
    ({"tile": (256, 208, 64), "defer_stores": True}, "registers: 312 for results"),
    ({"tile": (192, 256, 64), "warpgroups": 3}, "tile N = 256: a wgmma's results must fit in the 128 registers"),
    (PING | {"defer_stores": True}, "pingpong: only cooperative warpgroups can defer stores"),
    ({"group": 0}, "group = 0: it is a whole number, 1 or more"),
    ({"split_k": 0}, "split_k = 0: it is a whole number, 1 or more"),
    ({"split_k": 2}, "split_k = 2: parts of a tile go to blocks of their own"),
    ({"split_k": 2, "persistent": False, "stream_k": True}, "split_k = 2: parts of a tile go to blocks of their own"),
    (SPLIT | {"defer_stores": True}, "split_k = 2: parts of a tile go to blocks of their own"),
    (SPLIT | {"split_k": 8, "cluster": (2, 1)}, "split_k = 8: 16 blocks in a cluster, of at most 8"),
    ({"majors": ("m", "k")}, "majors = ('m', 'k'): A and B each have 'k' contiguous, or 'mn'"),
    ({"tile": (128, 128, 128), "dtype": "e4m3", "majors": ("k", "mn")}, "majors = ('k', 'mn'): wgmma reads elements"),
    ({"tile": (128, 128, 32), "cluster": (8, 1), "majors": ("k", "mn")}, "cluster = (8, 1): a block's part of a"),
    (
        SPLIT | {"split_k": 8, "stages": 3},
        "split_k = 8: the other blocks' accumulators do not fit into a matrix's stages",
    ),
    ({"stream_k": True, "persistent": False}, "stream_k: sharing the last wave evenly needs persistent blocks"),
    (PING | {"persistent": False}, "ping-pong needs persistent blocks"),
    ({"l2_a": "forever"}, "L2 hint 'forever' is none of normal, evict_first, evict_last"),
    ({"schedule": "ping-pong"}, "schedule = 'ping-pong' is none of cooperative, pingpong"),
    ({"raster": "k"}, "raster = 'k' is none of m, n"),
    ({"dtype": "fp8"}, "dtype = 'fp8' is none of bf16, fp16, e4m3"),
    ({"tile": (128, 256)}, "tile = (128, 256): it is 3 whole numbers"),
    ({"tile": (128, 256, 64.0)}, "tile = (128, 256, 64.0): it is 3 whole numbers"),
    ({"cluster": 2}, "cluster = 2: it is 2 whole numbers"),
    ({"split_k": None}, "split_k = None: it is a whole number"),
    ({"stages": "4"}, "stages = '4': it is a whole number"),
]


@pytest.mark.parametrize(("settings", "sentence"), BROKEN, ids=lambda value: str(value)[:60])
def test_a_broken_rule_is_a_sentence(settings, sentence):
    with pytest.raises(ConfigError) as refused:
        HopperConfig(**settings)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_every_setting_has_a_rule_or_takes_any_value_of_its_type():
    refused = {name for settings, _ in BROKEN for name in settings}
    free = {"snake", "zigzag", "polls", "l2_b", "pdl", "scaled", "transposed"}
    assert {field.name for field in fields(HopperConfig)} == refused | free


def test_a_configuration_that_takes_all_stages_leaves_no_room_for_another():
    for n in range(16, 257, 16):
        config = HopperConfig(tile=(128, n, 64))
        with pytest.raises(ConfigError, match="shared memory"):
            replace(config, stages=config.ab_stages + 1, store_stages=min(2, config.store_steps))


EDGES = (1, 7, 64, 127, 128, 129, 1000, 4096)
MAJORS = tuple(product(("k", "mn"), repeat=2))
eights = st.integers(1, 1024).map(lambda n: 8 * n)


@settings(max_examples=50)
@given(st.integers(1, 8192), eights, eights)
def test_any_shape_that_tma_takes_has_a_configuration_that_breaks_no_rule(m, n, k):
    config = choose(m, n, k)
    assert list(config.broken_rules()) == []
    assert replace(config, group=8, l2_a="normal", l2_b="normal") in candidates()
    listed = short_list(m, n, k, 132, "bf16", ("k", "k"))
    assert config in listed
    assert cost(listed[0], m, n, k) == min(cost(other, m, n, k) for other in candidates()) < float("inf")


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
        (8, 16, True), (30, 4, True), (4, 32, False), (12, 11, True), (12, 12, False), (13, 9, False)
    ):  # fmt: skip
        m, n = (128 * columns, 64 * rows) if transposed else (64 * rows, 128 * columns)
        band = in_bands(config, m, n, sms=132).group
        assert (band == 4) == squares
        if squares and rows * columns >= 16:
            first = [grouped(block, rows, columns, band) for block in range(16)]
            assert [len(set(numbers)) for numbers in zip(*first, strict=True)] == [4, 4]
    clustered = replace(config, cluster=(2, 1))
    assert in_bands(clustered, 512, 512, sms=132) == clustered


@pytest.mark.parametrize(("rows", "columns", "band"), [(8, 27, 8), (9, 27, 9), (10, 27, 8), (17, 27, 9), (33, 4, 5)])
def test_no_band_is_one_tile_wide(rows, columns, band):
    config = HopperConfig((64, 160, 64), schedule="pingpong")
    assert in_bands(config, 64 * rows, 160 * columns, sms=132).group == band
    assert in_bands(replace(config, cluster=(1, 2)), 64 * rows, 320 * columns, sms=132).group == 8


@pytest.mark.parametrize(
    ("tiles", "clusters", "cut"),
    [(132, 132, 0), (264, 132, 0), (50, 132, 50), (200, 132, 68), (140, 132, 140), (133, 66, 67), (1, 66, 1)],
)
def test_stream_k_cuts_up_what_fills_no_wave_and_a_wave_more_where_that_is_little(tiles, clusters, cut):
    assert cut_tiles(tiles, clusters) == cut


def test_the_constants_miss_the_measurements_that_are_kept_by_as_much_as_their_file_says():
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert fitted() == Constants(**stored["constants"])
    measured = usable(result for file in (DATA / "explored").glob("h?00.jsonl.gz") for result in read(file))
    assert stored["points"] == len(measured)
    assert stored["miss"] == pytest.approx(miss(measured, fitted()), abs=1e-3)
    assert median(regret(measured, fitted()).values()) < 1.05


E4M3 = {"dtype": "e4m3", "transposed": True}

# One for each path through the kernel, with the tiles that leave the fewest registers.
BATTERY = {
    "deferred, zigzag, polls": {"defer_stores": True, "cluster": (2, 1), "zigzag": True, "polls": True},
    "deferred, stream-K": {"defer_stores": True, "cluster": (2, 1), "stream_k": True},
    "256x208, cluster, stream-K": {"tile": (256, 208, 64), "cluster": (1, 2), "stream_k": True},
    "3 warpgroups": {"tile": (192, 192, 64), "warpgroups": 3, "cluster": (2, 2)},
    "split-K": {"tile": (256, 128, 64), "cluster": (1, 2), "persistent": False, "split_k": 2},
    "split-K of 3, 2 receivers": {"tile": (256, 64, 64), "persistent": False, "split_k": 3},
    "ping-pong, stream-K": {"tile": (128, 208, 64), "schedule": "pingpong", "stream_k": True},
    "both by columns, deferred": {"majors": ("mn", "mn"), "defer_stores": True, "cluster": (2, 1)},
    "B by columns, ping-pong, stream-K": {
        "tile": (128, 192, 64), "majors": ("k", "mn"), "schedule": "pingpong", "stream_k": True
    },
    "hints, fp16": {"l2_a": "evict_last", "dtype": "fp16"},
    "e4m3, transposed": E4M3 | {"tile": (256, 160, 128), "cluster": (1, 2), "scaled": True},
}  # fmt: skip


@pytest.mark.parametrize("name", BATTERY)
def test_nothing_is_spilled_and_no_wgmma_waits_for_the_one_before(name, tmp_path):
    config = HopperConfig(**BATTERY[name])
    built = compile_gemm(config, f"--keep-ptx --keep-cubin --dump-dir {tmp_path}")
    ptx = built.artifacts.PTX
    registers, stack, _ = resources(built.artifacts.CUBIN)
    assert (programs.spilled(ptx), stack) == (0, 0)
    assert programs.serialized(ptx) is None
    assert registers <= config.launch_registers
    m_atoms, k_blocks = config.tile[0] // (64 * config.tile_warpgroups), config.tile[2] * BYTES[config.dtype] // 32
    assert ptx.count("wgmma.mma_async") == 2 * m_atoms * k_blocks  # a tile's first step, and its others
    assert (".multicast::cluster" in ptx) == (config.cluster_size > 1)
    assert ("setmaxnreg.inc" in ptx) == config.moves_registers


def spilled(config, folder):
    built = compile_gemm(config, f"--keep-ptx --keep-cubin --dump-dir {folder}")
    return programs.spilled(built.artifacts.PTX)


def test_an_odd_number_of_deferred_stores_is_refused_where_it_spills_and_nowhere_else(tmp_path, monkeypatch):
    """240 columns transposed are 15 stores; 16 are not refused, nor 13 of fewer results, nor 15 without stream-K."""
    deferred = {"cluster": (2, 1), "defer_stores": True, "transposed": True, "zigzag": True, "polls": True}
    for other in ({"tile": (128, 256, 64), "stream_k": True}, {"tile": (128, 240, 64)}):
        assert spilled(HopperConfig(**deferred, **other), tmp_path) == 0
    HopperConfig(**deferred, tile=(128, 208, 64), stream_k=True)
    refused = {**deferred, "tile": (128, 240, 64), "stream_k": True}
    with pytest.raises(ConfigError, match="even number of stores"):
        HopperConfig(**refused)
    monkeypatch.setattr(HopperConfig, "broken_rules", lambda self: ())
    assert spilled(HopperConfig(**refused), tmp_path) > 0
