"""The space of tiles and hints of cuTile's attention, and the tiles in use."""

import json

import pytest

from tutorlib.instruments.attention_tiles import KERNELS, keep_problem, main, tiles_to_try
from tutorlib.kernels.attention.tile_sizes import ANYWHERE, measured_tiles


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [64, 128])
def test_it_has_the_default_tile_and_few_others(kernel, d):
    found = list(tiles_to_try(kernel, d))
    assert len(found) == len(set(found)) <= 30
    if d == 128:
        assert ANYWHERE[kernel] in found


def test_every_kernel_has_a_tile_in_use_which_the_instrument_tries():
    wanted = {(kernel, d, causal) for kernel in KERNELS for d in (64, 128) for causal in (False, True)}
    assert measured_tiles().keys() == {
        (*rest, causal) for *rest, causal in wanted if not (rest[0] == "decode_parts" and causal)
    }
    for (kernel, d, _), tile in measured_tiles().items():
        assert tile in set(tiles_to_try(kernel, d))


def test_a_problem_s_rows_take_the_place_of_its_own_alone(tmp_path):
    file = tmp_path / "tiles.json"
    forward, masked = ({"kernel": "tile_forward", "d": 64, "causal": causal} for causal in (False, True))
    for rows in ([forward | {"tm": 64}], [masked | {"tm": 64}], [forward | {"tm": 128}, forward | {"tm": 256}]):
        keep_problem(file, "tried", rows, {"gpu": "a GPU"})
    assert [(row["causal"], row["tm"]) for row in json.loads(file.read_text())["tried"]] == [
        (True, 64), (False, 128), (False, 256)
    ]  # fmt: skip


def test_a_kernel_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr("sys.argv", ["attention_tiles", "forward"])
    with pytest.raises(SystemExit, match="no kernel is called forward; there are tile_forward"):
        main()
