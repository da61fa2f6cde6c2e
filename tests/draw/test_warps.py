"""The pictures of warps over a tile show what the real TiledMma does."""

import cutlass

from tutorlib.draw.warps import show_columns, show_warps
from tutorlib.exercises.n09_gemm_baseline.judge import in_cute
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.thread_share import make_mma
from tutorlib.paths import SOLUTIONS

SHOWN = "((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))"


def texts(picture, grid):
    return [text.get_text() for text in picture.axes[grid].texts]


def test_the_layout_that_the_page_shows_is_cute_s():
    assert SHOWN in (SOLUTIONS / "09_gemm_baseline.py").read_text(encoding="utf-8")
    assert in_cute(lambda: str(make_mma(GemmConfig(), cutlass.BFloat16).tv_layout_C_tiled)) == SHOWN


def test_each_piece_has_the_warp_that_owns_it():
    picture = show_warps(SHOWN, (32, 32), (64, 128))
    assert [text for text in texts(picture, 0) if "warp" in text][:4] == [
        "warp 0\nV0-1",
        "warp 2\nV0-1",
        "warp 0\nV4-5",
        "warp 2\nV4-5",
    ]
    labels = texts(picture, 1)
    assert labels.count("3") == 8 * 16 // 4


def test_in_the_second_order_a_lane_has_eight_neighbors():
    labels = [text for text in texts(show_columns(("value", "atom", "lane", "warp")), 0) if "\n" in text]
    assert len(labels) == 32
    for four in range(0, 32, 4):
        lanes, atoms = zip(*(label.split("\n") for label in labels[four : four + 4]), strict=True)
        assert len(set(lanes)) == 1
        assert atoms == ("a0", "a1", "a2", "a3")
