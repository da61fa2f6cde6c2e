"""What is learned of the model's misses."""

import re
from collections import defaultdict
from functools import cache
from statistics import median

import numpy as np
import pytest

from tests.chooser import learn as learning
from tests.chooser.explore import shapes
from tests.chooser.fit import read, usable
from tests.chooser.learn import Sample, learn, sample, slopes
from tutorlib.instruments.table import unseen
from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.learned import Trees, features, learned
from tutorlib.kernels.hopper.tune import Problem, nominees
from tutorlib.measuring.results import read_sweep, sweep_file
from tutorlib.measuring.timing import within_noise
from tutorlib.paths import DATA, ROOT, SOLUTIONS
from tutorlib.problems.differences import by

PAGE = SOLUTIONS / "16_choose.py"


def loss(data, missed):
    """As `slopes` documents it, by itself."""
    total = 0.0
    for shape in range(data.shape.max() + 1):
        here = data.shape == shape
        us, estimate = data.us[here], (data.estimate + missed)[here]
        slower = us / us.min() - 1
        near = np.exp(-slower / learning.NEAR)
        log = np.log(us) - data.estimate[here]
        off = abs(missed[here] - log + np.average(log, weights=near))
        error = np.where(off < learning.EXACT, off**2 / learning.EXACT / 2, off - learning.EXACT / 2)
        chosen = np.exp(-(estimate - estimate.min()) / learning.DOUBT)
        total += learning.ERRORS * np.average(error, weights=near)
        total += np.average(np.minimum(slower, learning.FAR_OFF), weights=chosen)
    return total


@pytest.fixture
def made():
    """30 shapes with 8 candidates each. The model misses what feature 1 says, and feature 0 says nothing."""
    draw = np.random.default_rng(1)
    x = np.stack([draw.random(240), draw.integers(0, 2, 240)], 1)
    estimate = draw.normal(0, 0.1, 240)
    return Sample(x, np.repeat(np.arange(30), 8), estimate, np.exp(estimate + 0.2 * x[:, 1]))


def test_a_tree_compares_level_by_level():
    trees = Trees(np.array([[1, 0]]), np.array([[0.5, 2.0]]), np.array([[1.0, 2.0, 3.0, 4.0]]))
    assert trees(np.array([[0, 0], [9, 0.5], [0, 1], [2.5, 1]])).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_the_slopes_are_those_of_the_loss(made):
    missed, step = np.random.default_rng(2).normal(0, 0.05, 240), 1e-6
    first, second = slopes(made, missed)
    for row in range(0, 240, 17):
        more = step * (np.arange(240) == row)
        measured = (loss(made, missed + more) - loss(made, missed - more)) / (2 * step)
        assert first[row] == pytest.approx(measured, abs=1e-4)
    assert (second > 0).all()


def test_rows_of_c_that_begin_within_a_sector_are_not_stored_transposed():
    shape = 6485, 21112, 512  # there the fastest transposed kernel takes a seventh longer
    for transposed in (False, True):
        config = HopperConfig((128, 208, 64), "pingpong", transposed=transposed)
        assert features(config, *shape, 132)["alignment of n"] == 16
    assert not choose(*shape).transposed


def test_what_a_setting_costs_is_learned(made, monkeypatch):
    monkeypatch.setattr(learning, "COUNT", 60)
    trees = learn(made)
    assert made.regrets(made.estimate).mean() > 0.03
    assert made.regrets(made.estimate + trees(made.x)).mean() < 0.01


UNSEEN = "h200_unseen", "h200_unseen_again", "h200_unseen_third"  # the same shapes on three GPUs


@pytest.mark.parametrize("file", UNSEEN)
def test_at_shapes_that_it_was_not_learned_from_the_choice_is_better(file):
    regrets, alone = within(file)
    assert np.mean(regrets <= 0.03) > 0.96
    assert np.mean(alone <= 0.03) < 0.86
    assert regrets.mean() < alone.mean()


def within(file):
    """By how much the choice is slower than the fastest, for each held-out shape of a file; and the model's alone."""
    data = sample([timed for timed in usable(read(DATA / f"explored/{file}.jsonl.gz")) if held_out(timed.place.shape)])
    return data.regrets(data.estimate + learned()(data.x)), data.regrets(data.estimate)


def held_out(shape):
    return shape not in learned_from()


def test_no_held_out_shape_is_drawn():
    assert not {problem[:3] for problem in shapes(120, 1)} & {*unseen()}  # 1: two of its first 120 were


@cache
def learned_from():
    return {tuple(result["shape"]) for result in read(DATA / "explored/h200.jsonl.gz")}


def beside_cublas(file):
    """cuBLAS' time over the choice's, and over that of the best of a dozen, at each held-out shape of a file."""
    timed = defaultdict(dict)
    for row in read(DATA / f"explored/{file}.jsonl.gz"):
        timed[Problem(*row["shape"])][HopperConfig(**row["config"])] = row["baseline_us"] / row["us"]
    unknown = [(problem, found) for problem, found in timed.items() if held_out(problem[:3])]
    ratios = [[found[each] for each in nominees(problem, 132) if each in found] for problem, found in unknown]
    return np.array([first for first, *_ in ratios]), np.array([*map(max, ratios)])


def test_at_shapes_that_the_fit_has_not_seen_the_choice_keeps_up_with_cublas_and_a_dozen_are_ahead():
    chosen, tuned = beside_cublas(UNSEEN[0])
    assert np.median(chosen) > 1.07
    assert chosen.min() > 0.99  # by the model alone 0.981
    assert np.median(tuned) > 1.08
    assert tuned.min() > 1


def recorded(name, kernel="chosen"):
    """Shape → measurement on the H200, of a sweep."""
    swept = read_sweep(sweep_file("NVIDIA H200", name))
    return {point.measurement.shape: point.measurement for point in swept.points if point.name == kernel}


def ratios(name):
    """Shape → speed over cuBLAS'."""
    return {shape: measured.ratio for shape, measured in recorded(name).items()}


def test_page_16_says_how_often_and_how_the_choice_stands_beside_cublas():
    said = re.sub(r"\n# ", " ", PAGE.read_text(encoding="utf-8"))
    learned_too, alone = ([100 * np.mean(each <= 0.03) for each in of] for of in zip(*map(within, UNSEEN), strict=True))
    assert "at {:.0f}, {:.0f}, and {:.0f}%; with the trees".format(*alone) in said
    assert "trees at {:.0f}, {:.0f}, and {:.0f}%".format(*learned_too) in said
    assert f"trained on {len(learned_from()):,} shapes" in said
    chosen = [ratio for shape, ratio in ratios("gemm_unseen").items() if held_out(shape)]
    assert f"At {len(chosen)} shapes of neural networks that the training did not have" in said
    assert f"the choice has a median of {median(chosen):.2f} of" in said
    assert f"and a least of {min(chosen):.3f}." in said
    drawn = ratios("gemm_any")
    middle, below = median(drawn.values()), sum(ratio < 1 for ratio in drawn.values())
    assert f"At {len(drawn)} random shapes on the H200 the median is {middle:.2f}, {below} are below 1" in said
    worst = min(drawn, key=drawn.get)
    assert f"and the least is {drawn[worst]:.3f}, at {by(worst)}" in said


def test_readme_says_how_the_choice_stands_beside_cublas():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for name, words in (
        ("gemm_models", "median {:.2f} and at least {:.3f} at {} shapes of language models"),
        ("gemm_unseen", "{:.2f} and {:.3f} at {} shapes of other models"),
        ("gemm_any", "{:.2f} and {:.3f} at {} random shapes"),
    ):
        found = ratios(name).values()
        assert words.format(median(found), min(found), len(found)) in readme


def test_readme_and_page_16_describe_the_ladder():
    readme, page = (ROOT / "README.md").read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")
    first, tuned, roles, chosen = (
        {shape[0]: measured.ratio for shape, measured in recorded("gemm_rungs", rung).items()}
        for rung in ("10 one buffer", "13 tuned", "15 zigzag, polling", "16 chosen")
    )
    mma_sync = [*first.values(), *tuned.values()]
    assert f"mma.sync {min(mma_sync):.2f} to {max(mma_sync):.2f};" in readme
    few = [roles.pop(size) for size in (512, 768, 1024, 1536, 3072)]
    assert f"page 15's {min(few):.2f} to {max(few):.2f} up to 1536 and at 3072" in readme
    assert f"elsewhere level or up to {max(roles.values()) - 1:.1%} ahead" in readme
    assert min(roles.values()) > 0.995
    assert min(chosen.values()) > 0.98
    assert f"level with cuBLAS at 4096³ and has {few[2]:.2f} of its speed at 1024³" in page


def test_page_20_says_what_an_early_start_gains():
    page = (SOLUTIONS / "20_compile_once.py").read_text(encoding="utf-8")
    pairs = zip(*(recorded("gemm_pdl", f"{how} PDL").values() for how in ("without", "with")), strict=True)
    (best, gain, _), *others = sorted(
        ((by(late.shape), early.ratio / late.ratio - 1, (late, early)) for late, early in pairs),
        key=lambda each: -each[1],
    )
    assert f"At {best} a call is {gain:.0%} faster with PDL; in the two longer calls" in page
    assert [within_noise(less, *measured) for _, less, measured in others] == [True, True]
