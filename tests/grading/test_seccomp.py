"""The seccomp filter: what it refuses in the sandbox, by the kernel's own numbers, and what goes on as before."""

import errno
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.grading.test_sandbox import behind_the_wall, needs_bubblewrap, started_inside
from tutorlib.grading.supervisor import ABSENT, MACHINES, NEWEST, REFUSED, X32, filter_program

COLUMN = MACHINES.get(platform.machine(), (0, 0))[0]
HEADERS = {0: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", 1: "/usr/include/asm-generic/unistd.h"}

pytestmark = needs_bubblewrap


@pytest.mark.parametrize("column", HEADERS)
def test_the_numbers_are_the_kernels(column):
    if not Path(HEADERS[column]).exists():
        pytest.skip("the kernel's headers are not installed")
    kernels = dict(re.findall(r"#define __NR_(\w+)\s+(\d+)", Path(HEADERS[column]).read_text()))
    ours = {name: numbers[column] for name, numbers in (REFUSED | ABSENT).items()}
    assert ours == {name: int(kernels[name]) if name in kernels else None for name in ours}


CALL = """
import ctypes
call = ctypes.CDLL(None, use_errno=True).syscall
for number in {numbers}:
    ctypes.set_errno(0)
    print(call(number, -1, -1, -1, -1, -1, -1), ctypes.get_errno())
"""


@pytest.mark.parametrize(("calls", "error"), [(REFUSED, errno.EPERM), (ABSENT, errno.ENOSYS)])
def test_what_is_refused(tmp_path, calls, error):
    """Some of these need a right that no process has there; most others the kernel would refuse with another error."""
    numbers = [numbers[COLUMN] for numbers in calls.values() if numbers[COLUMN] is not None]
    said = behind_the_wall(tmp_path, CALL.format(numbers=numbers)).splitlines()
    assert said == [f"-1 {error}"] * len(numbers)


def test_a_call_that_is_newer_than_the_filter_is_absent(tmp_path):
    said = behind_the_wall(tmp_path, CALL.format(numbers=[NEWEST + 1, NEWEST + 3]))
    assert said.splitlines() == [f"-1 {errno.ENOSYS}"] * 2


NEW_NAMESPACE = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    process = libc.syscall({clone}, flag | 17, 0, 0, 0, 0)
    if not process:
        libc._exit(0)
    print(process, ctypes.get_errno())
"""


def test_no_process_has_a_namespace_of_its_own(tmp_path):
    clone = (56, 220)[COLUMN]
    assert behind_the_wall(tmp_path, NEW_NAMESPACE.format(clone=clone)).splitlines() == [f"-1 {errno.EPERM}"] * 7


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 has two more tables of calls")
@pytest.mark.parametrize(
    "call",
    [
        f"ctypes.CDLL(None).syscall({X32} + 39)",  # getpid of x32
        "page = mmap.mmap(-1, 4096, prot=7); page.write(bytes.fromhex('b814000000cd80c3'));"  # getpid: mov, int 0x80
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()",
    ],
)
def test_a_call_by_another_table_ends_the_process(tmp_path, call):
    done = started_inside(tmp_path, f"import ctypes, mmap\n{call}\nprint('went on')")
    assert (done.stdout, done.returncode) == ("", 128 + signal.SIGSYS)


PAIRS = """
import socket
for family in range(64):
    for kind in (1, 2, 3, 5):
        try:
            socket.socketpair(family, kind)
        except OSError:
            continue
        print(family)
"""


def test_sockets_are_made_in_pairs_of_one_family(tmp_path):
    assert set(behind_the_wall(tmp_path, PAIRS).split()) == {"1"}


USUAL = """
import asyncio, concurrent.futures, ctypes, multiprocessing, resource, socket, subprocess, sys, threading
from multiprocessing import shared_memory
import torch

def work(n):
    return n + 1

if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(*pool.map(work, range(3)))
    print(subprocess.run([sys.executable, "-c", "print(4)"], capture_output=True, text=True).stdout.strip())
    shared = shared_memory.SharedMemory(create=True, size=4096)
    shared.buf[:1] = b"5"
    print(bytes(shared.buf[:1]).decode())
    shared.close()
    shared.unlink()
    print(torch.zeros(3).share_memory_().sum().item(), ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 6)())
    print(asyncio.run(asyncio.to_thread(work, 6)), resource.getrlimit(resource.RLIMIT_CORE))
"""


def test_what_programs_use_is_there(tmp_path):
    """Processes, threads, memory that they share, callbacks, a loop of asyncio."""
    write = f"open('usual.py', 'w').write({USUAL!r})"
    said = behind_the_wall(tmp_path, f"{write}; import runpy; runpy.run_path('usual.py', run_name='__main__')")
    assert said.splitlines() == ["1 2 3", "4", "5", "0.0 6", "7 (0, 0)"]


def test_the_filter_of_a_machine_that_it_lacks():
    with pytest.raises(KeyError):
        filter_program("riscv64")
    assert all(len(filter_program(machine)) % 8 == 0 for machine in MACHINES)
    assert subprocess.run([sys.executable, "-c", CALL.format(numbers=[(39, 172)[COLUMN]])], check=True).returncode == 0
