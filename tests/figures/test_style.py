"""What performance figures share."""

from tests.stand_ins import swept
from tutorlib.figures.style import baseline_speeds, kernel_lines, powers_of_two


def test_lines_differ_in_more_than_color():
    looks = [(look["color"], look["marker"]) for _, look in kernel_lines(swept("slow", "fast"))]
    assert all(len(set(column)) == 2 for column in zip(*looks, strict=True))


def test_the_baseline_has_the_median_of_its_speeds_at_each_size():
    assert {size: round(speed) for size, speed in baseline_speeds(swept("slow", "fast")).items()} == {
        512: 800, 1024: 800, 2048: 800,
    }  # fmt: skip


def test_an_axis_names_powers_of_two():
    assert powers_of_two(swept("slow", sizes=(512, 768, 1024))) == [512, 1024]
