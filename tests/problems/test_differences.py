"""What is said of a wrong result, and of a kernel that crashes or hangs."""

import pytest
import torch

from tutorlib.problems import work
from tutorlib.problems.differences import find_difference, pattern
from tutorlib.problems.work import RESTART, KernelFault, context_broken, guarded

NONE = torch.zeros((), dtype=torch.float64)


def ramp(m, n):
    return (torch.arange(m)[:, None] * 1000 + torch.arange(n)).double()


def describe(got, want, allowed=NONE, unwritten=None):
    wrong = find_difference(
        "c", got, torch.zeros_like(want, dtype=torch.bool) if unwritten is None else unwritten, want, allowed
    )
    return wrong and f"{wrong.what} {wrong.mistake}"


class TestRight:
    def test_within_the_bound(self):
        want = ramp(8, 8)
        assert describe(want + 0.5, want, torch.full_like(want, 0.5)) is None

    def test_negative_zero_is_zero(self):
        assert describe(torch.tensor([-0.0]), torch.tensor([0.0])) is None


class TestPatterns:
    @pytest.mark.parametrize(
        ("rows", "columns", "says"),
        [
            (slice(None), slice(128, None), "columns ≥ 128"),
            (slice(None), slice(0, 64), "columns < 64"),
            (slice(32, 64), slice(None), "rows 32 to 63"),
            (slice(255, None), slice(128, None), "row 255 and columns ≥ 128"),
            (slice(1, None, 2), slice(None), "rows with row % 2 == 1"),
            (slice(None), slice(3, None, 8), "columns with column % 8 == 3"),
            (slice(None), slice(None), ""),
        ],
    )
    def test_of_a_matrix(self, rows, columns, says):
        where = torch.zeros(256, 192, dtype=torch.bool)
        where[rows, columns] = True
        assert pattern(where) == says

    def test_of_a_vector(self):
        where = torch.zeros(1000, dtype=torch.bool)
        where[900:] = True
        assert pattern(where) == "elements ≥ 900"

    def test_no_rule_is_made_up_for_scattered_errors(self):
        generator = torch.Generator().manual_seed(0)
        assert pattern(torch.rand(256, 192, generator=generator) < 0.1) == ""


class TestMessages:
    def test_unwritten(self):
        want = ramp(64, 64)
        got, unwritten = want.clone(), torch.zeros(64, 64, dtype=torch.bool)
        unwritten[:, 32:], got[:, 32:] = True, float("nan")
        assert describe(got, want, NONE, unwritten).strip() == (
            "c[0, 32] is still NaN: the kernel never wrote it. Unwritten: 2,048 of 4,096 elements, all in columns ≥ 32."
        )

    def test_the_first_wrong_element_and_its_tolerance(self):
        want = ramp(64, 64)
        got = want.clone()
        got[3, 5:] += 1
        assert "c[3, 5] is 3006 and should be 3005 (± 0.25). Wrong: 59 of 4,096 elements, all in row 3" in describe(
            got, want, torch.full_like(want, 0.25)
        )

    def test_nan_that_was_written_is_wrong(self):
        want = ramp(8, 8)
        got = want.clone()
        got[0, 0] = float("nan")
        assert "c[0, 0] is nan and should be 0" in describe(got, want, torch.full_like(want, 1e9))

    @pytest.mark.parametrize(("m", "n"), [(64, 64), (64, 96)])
    def test_transposed(self, m, n):
        want = ramp(m, n)
        assert "the right result transposed" in describe(want.mT.reshape(m, n), want)

    def test_lost_digits(self):
        want = ramp(64, 64) / 1e4 + 1
        assert "digits are lost" in describe(want.half().double(), want, want * 1e-6)

    def test_nothing_is_made_up_for_plain_nonsense(self):
        want = ramp(64, 64)
        generator = torch.Generator().manual_seed(0)
        assert describe(torch.rand(64, 64, generator=generator), want.float()).endswith("elements. ")


ILLEGAL = "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported"


class Cuda:
    """Stands in for torch.cuda. sticks: the error that every call raises from now on; busy: a kernel never ends."""

    sticks = ""
    busy = False

    def synchronize(self):
        if self.sticks:
            raise RuntimeError(self.sticks)

    def event(self):
        cuda = self

        class Event:
            def record(self):
                cuda.synchronize()

            def query(self):
                cuda.synchronize()
                return not cuda.busy

        return Event()


@pytest.fixture
def cuda(monkeypatch):
    made = Cuda()
    monkeypatch.setattr(work, "_broken", False)
    monkeypatch.setattr(torch.cuda, "synchronize", made.synchronize)
    monkeypatch.setattr(torch.cuda, "Event", made.event)
    return made


def test_nothing_happens(cuda):
    guarded(lambda: None, 1)
    assert not context_broken()


def test_an_illegal_address_ends_the_context(cuda):
    def run():
        cuda.sticks = ILLEGAL

    with pytest.raises(KernelFault) as caught:
        guarded(run, 1)
    assert str(caught.value) == f"it read or wrote outside its tensors (illegal memory access). {RESTART}"
    assert caught.value.status == "error"
    assert context_broken()


def test_an_unknown_error_is_told_in_one_line(cuda):
    def run():
        cuda.sticks = "CUDA error: \x1b[31mthe moon\x1b[0m\nis full"

    with pytest.raises(KernelFault) as caught:
        guarded(run, 1)
    assert str(caught.value) == f"CUDA error: the moon is full {RESTART}"


def test_a_hang_is_given_up(cuda):
    cuda.busy = True
    with pytest.raises(KernelFault, match=r"still running after 0 s: does a loop never end\?") as caught:
        guarded(lambda: None, 0)
    assert caught.value.status == "timeout"
    cuda.busy = False
    assert context_broken()


@pytest.mark.parametrize(
    ("error", "says", "status"),
    [
        ("cudaErrorInvalidConfiguration", "it could not be launched: cudaErrorInvalidConfiguration", "failed"),
        ("too many resources requested for launch", "a block asks for more registers than an SM", "failed"),
        ("CUDA out of memory. Tried to allocate 8 GiB", "the GPU has too little free memory", "error"),
    ],
)
def test_what_the_context_survives(cuda, error, says, status):
    def run():
        raise RuntimeError(error)

    with pytest.raises(KernelFault, match=says) as caught:
        guarded(run, 1)
    assert caught.value.status == status
    assert RESTART not in str(caught.value)
    assert not context_broken()


def test_a_placeholder_passes_through(cuda):
    def run():
        raise NotImplementedError("Exercise 05.2")

    with pytest.raises(NotImplementedError, match=r"Exercise 05\.2"):
        guarded(run, 1)
