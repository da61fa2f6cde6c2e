"""Pictures of roles and of shares: what stands in their cells."""

from tutorlib.draw import show_roles, show_work
from tutorlib.draw.palette import EMPTY, category
from tutorlib.draw.roles import EPILOGUE, hand_overs, in_time, roles_grid, work_grid
from tutorlib.models.roles import Cartoon
from tutorlib.models.work import stream_k


def test_a_row_for_each_role_and_holes_where_tensor_cores_wait():
    grid = roles_grid(Cartoon("cooperative", tiles=2), 30)
    assert tuple(grid.down) == ("load", "wg 0", "wg 1", "store", "mma")
    assert grid.colors[4][:3] == [None] * 3
    assert grid.colors[4][3] == grid.colors[0][0] == category(0)
    assert grid.colors[1][11] == EPILOGUE
    assert grid.title.startswith("cooperative: 25 ticks, the tensor cores busy for 64%")


def test_the_shares_of_clusters():
    whole = work_grid("whole", [[(0, 0, 3), (2, 0, 3)], [(1, 0, 3)]], 8)
    assert whole.title == "whole: done after 6 K tiles;\n3 tiles in 3 parts"
    assert whole.labels == [["0", "0", "0", "2", "2", "2", "", ""], ["1", "1", "1", *[""] * 5]]
    assert whole.colors[1] == [*[category(1)] * 3, None, None, None, EMPTY, EMPTY]


def test_cut_tiles_come_first_for_the_giver_and_last_for_the_adder():
    shares = in_time([stream_k(cluster, 2, 3, 4) for cluster in range(2)])
    assert shares == [[(1, 0, 2), (0, 0, 4)], [(2, 0, 4), (1, 2, 4)]]
    assert hand_overs(shares) == [((2, 0.5), (6, 1.5))]


def test_pictures_fit_a_notebook():
    for picture in (show_roles("plain", "ping-pong"), show_work({"stream-K": stream_k}, 3, 4, 5)):
        assert len(picture._repr_png_()) < 60_000
