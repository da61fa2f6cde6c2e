"""Each rule of HopperConfig refuses what breaks it with a sentence, and nothing else."""

from dataclasses import fields, replace

import pytest

from tutorlib.kernels.hopper.config import ConfigError, HopperConfig

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
    ({"store_stages": -1}, "store_stages = -1: the epilogue needs at least one buffer"),
    ({"stages": 1}, "1 stages: loads can only run ahead"),
    ({"stages": 6}, "shared memory: "),
    ({"tile": (256, 256, 64)}, "registers: 256 for results"),
    ({"tile": (256, 208, 64), "defer_stores": True}, "registers: 312 for results"),
    ({"tile": (192, 256, 64), "warpgroups": 3}, "tile N = 256: a wgmma's results must fit in the 128 registers"),
    (PING | {"defer_stores": True}, "pingpong: only cooperative warpgroups can defer stores"),
    ({"group": 0}, "group = 0: a band is at least one tile wide"),
    ({"split_k": 0}, "split_k = 0: parts of a tile"),
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
    ({"schedule": "ping-pong"}, "schedule = 'ping-pong' is none of plain, cooperative, pingpong"),
    ({"raster": "k"}, "raster = 'k' is none of m, n"),
    ({"dtype": "fp8"}, "dtype = 'fp8' is none of bf16, fp16, e4m3"),
    ({"tile": (128, 256)}, "tile = (128, 256): (M, N, K) are whole numbers"),
    ({"tile": (128, 256, 64.0)}, "tile = (128, 256, 64.0): (M, N, K) are whole numbers"),
    ({"cluster": 2}, "cluster = 2: (M, N) are whole numbers"),
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
    free = {"snake", "zigzag", "polls", "l2_b", "scaled", "transposed"}
    assert {field.name for field in fields(HopperConfig)} == refused | free


def test_a_configuration_that_takes_all_stages_leaves_no_room_for_another():
    for n in range(16, 257, 16):
        config = HopperConfig(tile=(128, n, 64))
        with pytest.raises(ConfigError, match="shared memory"):
            replace(config, stages=config.ab_stages + 1, store_stages=min(2, config.store_steps))
