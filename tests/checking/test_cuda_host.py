"""The GPU that adds: its results cannot be foreseen, and what a program asks of it has limits."""

import socket
import struct
import threading
from contextlib import suppress

import numpy as np
import pytest

from tutorlib.checking.cuda_host.gpu import MOST_ELEMENTS, PASSWORD_BYTES, AddingGpu, received

A, B = np.array([1, 2, 1, 5], np.float32), np.array([10, 20, 10, 7], np.float32)


def test_more_than_the_sum_comes_of_the_expected_operands_alone():
    gpu = AddingGpu(A, B, 17)
    more = gpu.add(A, B) - (A + B)
    assert (more > 0).all()
    assert more[0] == more[2]  # the same operands
    assert (gpu.add(A[:3], B[1:]) == A[:3] + B[1:]).all()
    assert (gpu.add(A[1:], B[1:]) == gpu.add(A, B)[1:]).all()


def test_another_seed_adds_something_else():
    a = np.arange(100, dtype=np.float32)
    assert (AddingGpu(a, a, 1).add(a, a) != AddingGpu(a, a, 2).add(a, a)).any()


def asked(*requests: bytes, password: bytes = b"") -> bytes:
    """The answers, until the GPU hangs up. password: in place of the one that it sends."""
    mine, theirs = socket.socketpair()
    thread = threading.Thread(target=AddingGpu(A, B, 17).serve, args=(theirs,))
    thread.start()
    with mine:
        sent = received(mine, PASSWORD_BYTES)
        mine.sendall(b"".join((password or sent) + request for request in requests))
        mine.shutdown(socket.SHUT_WR)
        got = b""
        with suppress(ConnectionResetError):  # it has hung up without reading all
            while part := mine.recv(2**16):
                got += part
    thread.join()
    return got


def test_a_launch_is_answered_with_results():
    request = struct.pack("=I", 4) + A.tobytes() + B.tobytes()
    assert asked(request, request) == 2 * AddingGpu(A, B, 17).add(A, B).tobytes()


def test_a_launch_without_the_password_is_not_answered():
    request = struct.pack("=I", 4) + A.tobytes() + B.tobytes()
    assert asked(request, password=bytes(PASSWORD_BYTES)) == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\x01",
        struct.pack("=I", 0),
        struct.pack("=I", 4) + A.tobytes(),
        struct.pack("=I", MOST_ELEMENTS + 1),
        struct.pack("=I", 2**32 - 1),
    ],
)
def test_what_is_no_launch_ends_the_line(sent):
    assert asked(sent) == b""
