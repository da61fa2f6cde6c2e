"""What becomes of a kernel that crashes, hangs or cannot be launched, with a CUDA that this machine lacks."""

import pytest
import torch

from tutorlib.problems import fault
from tutorlib.problems.fault import RESTART, KernelFault, context_broken, guarded

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
    monkeypatch.setattr(fault, "_broken", False)
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
