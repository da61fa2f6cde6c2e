"""Host code without a GPU: what a launch does, what it refuses, what is left of it."""

import cuda.tile as ct
import pytest
import torch

from tutorlib.checking.cutile_launches import SMS, launches_interpreted, stores_to


@ct.kernel
def double(x, z, tile: ct.Constant[int]):
    ct.store(z, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) * 2)


X = torch.arange(10.0)


def test_a_launch_runs_when_it_is_called_and_leaves_a_report():
    z = torch.full((10,), torch.nan)
    with launches_interpreted() as launched:
        sms = torch.cuda.get_device_properties(X.device).multi_processor_count
        ct.launch(torch.cuda.current_stream(), (sms,), double, (X, z, 4))
    assert sms == SMS
    torch.testing.assert_close(z, 2 * X)
    (one,) = launched
    assert (one.grid, one.kernel, one.report.findings) == ((3,), double, ())
    assert one.report.storers["z"].tolist() == [0] * 4 + [1] * 4 + [2] * 2
    assert stores_to(launched, z)
    assert not stores_to(launched, X)


@pytest.mark.parametrize(
    ("launch", "error", "says"),
    [
        ((None, (1,), double, (X, X, 4)), TypeError, "wants a stream first"),
        ((X, (1,), double, (X, X, 4)), TypeError, "not a Tensor"),
        ((132, (1,), double, (X, X, 4)), TypeError, "not 132"),
        ((0, [1], double, (X, X, 4)), TypeError, "the grid should be a tuple"),
        ((0, (1, 1, 1, 1), double, (X, X, 4)), ValueError, "one to three sizes, not 4"),
        ((0, (1.0,), double, (X, X, 4)), TypeError, "1.0 is a float"),
        ((0, (0,), double, (X, X, 4)), ValueError, "has no blocks"),
        ((0, (1,), print, (X, X, 4)), TypeError, "print is not a @ct.kernel"),
        ((0, (1,), double, [X, X, 4]), TypeError, "should be a tuple, not a list"),
        ((0, (1,), double, (X, X)), TypeError, "takes 3 arguments, x, z, tile; it is given 2"),
    ],
)
def test_what_a_launch_refuses(launch, error, says):
    with launches_interpreted(), pytest.raises(error, match=says.replace("(", r"\(")):
        ct.launch(*launch)


def test_what_the_real_launch_refuses_is_refused_here():
    """Types alone: the real one goes on to look for a driver."""
    for launch in [
        (None, (1,), double, (X, X, 4)),
        (X, (1,), double, (X, X, 4)),
        (0, [1], double, (X, X, 4)),
        (0, (1.0,), double, (X, X, 4)),
    ]:
        with pytest.raises(TypeError):
            ct.launch(*launch)
        with launches_interpreted(), pytest.raises(TypeError):
            ct.launch(*launch)


def test_the_real_functions_are_back_afterwards():
    before = ct.launch, torch.cuda.current_stream, torch.cuda.get_device_properties
    with launches_interpreted():
        assert ct.launch is not before[0]
    assert (ct.launch, torch.cuda.current_stream, torch.cuda.get_device_properties) == before


def test_what_host_code_asks_of_torch_about_a_gpu():
    with launches_interpreted() as launched:
        room = torch.empty(10, device="cuda")
        stream = torch.cuda.default_stream()
        ct.launch(stream.cuda_stream, (1,), double, (X, room, 16))
        torch.cuda.synchronize()
    assert len(launched) == 1
    assert torch.equal(room, 2 * X)
