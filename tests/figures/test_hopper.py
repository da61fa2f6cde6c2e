"""The figures of notebooks 13 and 14: they show what was measured."""

from tests.stand_ins import MACHINE, multiplied
from tutorlib.figures.any_shape import gemm_models
from tutorlib.figures.registry import FIGURES
from tutorlib.measuring.results import Point, SweepResults


def swept(points, **others):
    return SweepResults(MACHINE, "2026-11-21", True, tuple(points), **others)


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}


def texts(axes):
    return [text.get_text() for text in axes.texts]


class TestAnyShape:
    RANDOM = ((512, 8, 512), (8, 512, 512), (64, 64, 512), (64, 128, 512))
    FOUND = swept(
        [Point("chosen", multiplied((512,) * 3, 960.0), {})]
        + [
            Point("chosen", multiplied(shape, tflops), {})
            for shape, tflops in zip(RANDOM, (880, 840, 640, 840), strict=True)
        ],
        facts={"random": {"7": [list(shape) for shape in RANDOM[:3]], "8": [list(RANDOM[3])]}},
    )

    def test_squares_and_random_shapes_apart_with_median_and_least(self):
        (axes,) = FIGURES["gemm_any"].draw([self.FOUND]).axes
        squares, drawn, more, least = (collection.get_offsets().tolist() for collection in axes.collections)
        assert [y for _, y in squares] == [1.2]
        assert [y for _, y in drawn] == [1.1, 1.05, 0.8]
        assert [y for _, y in more] == [1.05]
        assert [y for _, y in least] == [0.8]
        assert "0.800 at 64×64×512" in texts(axes)
        names = [text.get_text() for text in axes.get_legend().get_texts()]
        assert names == [
            "M = N = K: 1, median 1.200, 0 below 1",
            "random, seed 7: 3, median 1.050, 1 below 1",
            "random, seed 8: 1, median 1.050, 0 below 1",
            "all random ones: 4, median 1.050, 1 below 1",
        ]


WEIGHTS = {"One": {"q": [64, 512], "o": [512, 512]}, "Two": {"up": [128, 512]}, "Three": {"up": [256, 512]}}


class TestModels:
    FOUND = swept(
        [
            Point("chosen", multiplied((tokens, n, k), tflops), {})
            for weights in WEIGHTS.values()
            for n, k in weights.values()
            for tokens, tflops in ((512, 880.0), (8, 720.0 if n == 256 else 800.0))
        ],
        facts={"models": WEIGHTS},
    )

    def test_a_panel_for_each_model_a_line_for_each_weight(self):
        one, two, three = gemm_models([self.FOUND]).axes
        dashed = {"_child0": [1, 1]}
        assert lines(one) == dashed | {"● q, 64×512": [1.0, 1.1], "■ o, 512×512": [1.0, 1.1]}
        assert lines(three) == dashed | {"● up, 256×512": [0.9, 1.1]}
        assert len({line.get_color() for axes in (one, two, three) for line in axes.get_lines()[1:]}) == 3
        assert one.get_xlabel() == "tokens, the rows of A"
        assert one.get_ylabel().startswith("speed as a fraction of cuBLAS's")
