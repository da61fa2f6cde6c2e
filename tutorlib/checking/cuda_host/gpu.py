"""The GPU of a program that has none. It is another process than the program's, at the other end of its stdin.

It returns sums that the program cannot compute: for the operands that it expects, a random number is added to each. So
only a launch on the right operands brings the right results, whatever else the program's own code does. A launch must
come through the runtime library: that alone has the password, which it reads before the program's own code runs.
"""

import secrets
import socket
import struct
from dataclasses import dataclass
from functools import cached_property

import numpy as np

PASSWORD_BYTES = 16
MOST_ELEMENTS = 2**20  # of a launch
MOST_LAUNCHES = 1024
MOST_ADDED = 1000  # so that results of small whole numbers stay exact in fp32


@dataclass(frozen=True)
class AddingGpu:
    """The kernel that it runs adds two vectors.

    a, b: the expected operands, of small whole numbers in fp32. seed: of the random numbers.
    """

    a: np.ndarray
    b: np.ndarray
    seed: int

    @cached_property
    def added(self) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of operands that are expected, in ascending order, and what is added to the sum of each."""
        pairs = np.unique(operand_pairs(self.a, self.b))
        return pairs, np.random.default_rng(self.seed).integers(1, MOST_ADDED, len(pairs)).astype(np.float32)

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The kernel's result for these operands; for operands that are not expected, plain sums."""
        pairs, added = self.added
        wanted = operand_pairs(a, b)
        found = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        sums: np.ndarray = a + b + np.where(pairs[found] == wanted, added[found], np.float32(0))
        return sums

    def serve(self, line: socket.socket) -> None:
        """Carry out the program's launches until it hangs up, or asks for more than any right program does."""
        password = secrets.token_bytes(PASSWORD_BYTES)
        with line:
            line.sendall(password)
            for _ in range(MOST_LAUNCHES):
                if received(line, PASSWORD_BYTES) != password:
                    return
                head = received(line, 4)
                (n,) = struct.unpack("=I", head) if head else (0,)
                operands = received(line, 8 * n) if n <= MOST_ELEMENTS else b""
                if not operands:
                    return
                line.sendall(self.add(*np.frombuffer(operands, np.float32).reshape(2, n)).tobytes())


def operand_pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One number for each pair of operands, by their bits."""
    return a.view(np.uint32).astype(np.uint64) << np.uint64(32) | b.view(np.uint32)


def received(line: socket.socket, size: int) -> bytes:
    """So many bytes; b"" if the other end hangs up before."""
    got = bytearray()
    while len(got) < size:
        if not (part := line.recv(min(size - len(got), 2**16))):
            return b""
        got += part
    return bytes(got)
