"""Starts bubblewrap, and ends it when the processes in the sandbox together exceed their limits.

    python -I -S supervisor.py SETTINGS OPTIONS … -- COMMAND …

A program of its own that needs the standard library alone: the judge's process starts it, and it starts in 20 ms.
SETTINGS is `SandboxSettings` as JSON, OPTIONS are bubblewrap's: what the command sees. The exit status is the
command's, 128 and the number of the signal that ended it, or the one of the settings.

Nothing in the sandbox is root on the host. Where root grades, the command runs as a user that the host does not have
otherwise, one for each sandbox. Root's folders need not be open to that user: bubblewrap mounts what is below them in
a user namespace that has root and this user, and the command then becomes this user. Where another user grades, the
command runs as that user. It has no capabilities either way, and can get none: system calls that make a user namespace
are refused.

bubblewrap starts with the variables ITS_OWN, so that those of the grader are in no process of the sandbox.
"""

import ctypes
import errno
import fcntl
import json
import os
import platform
import re
import resource
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

LOOK_S = 0.25  # between looks at what the processes take, which cost some milliseconds
UNSEEN = 20  # looks at most that may show nothing
OPEN = 256  # files that a process may have open
INSIDE = 1000  # user and group of the command, in the sandbox
USERS = ((0x70000000, 0x10000000), (61184, 4336))  # first, number: of no use to others (systemd's UIDS-GIDS.md)
ITS_OWN = ("PATH", "LD_LIBRARY_PATH")
FILTER, TOLD = 3, 4  # file descriptors that bubblewrap is given
UNSHARED = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--seccomp", str(FILTER), "--info-fd", str(TOLD)),
)
FOR_ONE = ("--unshare-user", "--disable-userns", "--uid", str(INSIDE), "--gid", str(INSIDE))
FOR_ROOT = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
BECOME = (
    *("setpriv", f"--reuid={INSIDE}", f"--regid={INSIDE}", "--clear-groups"),
    *("--inh-caps=-all", "--ambient-caps=-all"),
)
CLONE_NEWUSER, PR_SET_PDEATHSIG = 0x10000000, 1
SHARED = ("/dev/zero (deleted)\n", "/anon_hugepage (deleted)\n")  # how /proc calls memory that is shared without a file


class SandboxSettings(NamedTuple):
    """memory: bytes that a process may allocate, and that all together may use; past it the exit is `over_memory`. The
    limit on a process's data that the supervisor has itself counts where it is lower.

    processes: at a time, threads counted. file: bytes of the largest that may be written. tmpfs: the folders in memory
    that the sandbox has. given: a folder on disk that it may write to; "" for none.
    """

    memory: int
    over_memory: int
    processes: int
    file: int
    tmpfs: list[str]
    given: str

    def as_argument(self) -> str:
        return json.dumps(self._asdict())


def supervise(arguments: list[str]) -> int:
    """Run a command in a sandbox; its exit status."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    settings = SandboxSettings(**json.loads(arguments[0]))
    settings = settings._replace(memory=within_own_limit(settings.memory, resource.RLIMIT_DATA))
    cut = arguments.index("--")
    options, command = arguments[1:cut], arguments[cut + 1 :]
    user = user_of_its_own()
    if settings.given and user is not None:
        give(settings.given, user)
    limited = ["prlimit", f"--nproc={settings.processes}", *command]  # in front of it this user's others would count
    inner = limited if user is None else [*BECOME, *limited]
    unshared = [*UNSHARED, *(FOR_ONE if user is None else FOR_ROOT)]
    told, tell = os.pipe()
    unmapped, ask = os.pipe()
    mapped, go = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    if not (bubblewrap := os.fork()):
        if user is not None and libc.unshare(CLONE_NEWUSER):
            raise OSError(ctypes.get_errno(), "root may not build user namespaces here")
        os.write(ask, b".")
        os.read(mapped, 1)
        pass_on(filter_program(), tell)
        limits = {resource.RLIMIT_DATA: settings.memory, resource.RLIMIT_FSIZE: settings.file}
        for kind, most in (limits | {resource.RLIMIT_NOFILE: OPEN, resource.RLIMIT_CORE: 0}).items():
            resource.setrlimit(kind, 2 * (within_own_limit(most, kind),))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        known = {name: os.environ[name] for name in ITS_OWN if name in os.environ}
        os.execvpe("bwrap", ["bwrap", *unshared, *options, "--", *inner], known)
    for end in (tell, ask):
        os.close(end)
    if os.read(unmapped, 1) and user is not None:
        for ids in ("uid", "gid"):
            with open(f"/proc/{bubblewrap}/{ids}_map", "w") as file:
                file.write(f"0 0 1\n{INSIDE} {user} 1")
    os.write(go, b".")
    return watch(bubblewrap, told, settings)


def within_own_limit(size: int, kind: int) -> int:
    """The size, or this process's own limit where that is lower."""
    limit = resource.getrlimit(kind)[1]
    return size if limit == resource.RLIM_INFINITY else min(size, limit)


def user_of_its_own() -> int | None:
    """A user for one sandbox; None where this process is not root, or root of a user namespace without others."""
    if os.geteuid():
        return None
    for first, size in USERS:
        user = first + os.getpid() % size
        if all(is_mapped(user, f"/proc/self/{kind}_map") for kind in ("uid", "gid")):
            return user
    return None


def is_mapped(user: int, file: str) -> bool:
    with open(file) as lines:
        ranges = [map(int, line.split()) for line in lines]
    return any(first <= user < first + size for first, _, size in ranges)


def give(folder: str, user: int) -> None:
    """Let a user write to a folder, which stays root's, and own what is in it."""
    for one in os.scandir(folder):
        os.chown(one.path, user, user, follow_symlinks=False)
    os.chown(folder, -1, user)
    os.chmod(folder, 0o770)


def pass_on(program: bytes, tell: int) -> None:
    """Make these bubblewrap's file descriptors FILTER and TOLD, the only ones that are not closed when it starts."""
    source = os.memfd_create("filter")
    os.write(source, program)
    os.lseek(source, 0, os.SEEK_SET)
    moved = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, TOLD + 1) for one in (source, tell)]
    for target, one in enumerate(moved, FILTER):
        os.dup2(one, target)


# The watch -----------------------------------------------------------------------------------------------------------


def watch(bubblewrap: int, told: int, settings: SandboxSettings) -> int:
    """Wait for bubblewrap's end; the exit status."""
    first, unseen, status = first_process(told), 0, 0
    while not (ended := os.waitpid(bubblewrap, os.WNOHANG))[0]:
        if signal.sigtimedwait([signal.SIGCHLD], LOOK_S) is None and first:
            try:
                status, unseen = excess(first, settings), 0
            except PermissionError:  # as before bubblewrap has started the command; else a process hides
                unseen += 1
                status = settings.over_memory if unseen > UNSEEN else 0
        if status:
            for process in (first, bubblewrap):
                os.kill(process, signal.SIGKILL)
            os.waitpid(bubblewrap, 0)
            return status
    code = os.waitstatus_to_exitcode(ended[1])
    return code if code >= 0 else 128 - code


def first_process(told: int) -> int:
    """The process that is number 1 in the sandbox, by its number here; 0 where bubblewrap has built none."""
    text = b""
    while b"}" not in text and (more := os.read(told, 4096)):
        text += more
    found = re.search(rb'"child-pid": (\d+)', text)
    return int(found[1]) if found else 0


def excess(first: int, settings: SandboxSettings) -> int:
    """The exit status where the sandbox takes too much; 0 where it does not."""
    root = f"/proc/{first}/root"
    try:
        if os.path.exists(f"{root}/proc/self"):  # in a /proc of the sandbox's own there is no process of ours
            return 0
        if memory_in(root, settings.tmpfs) > settings.memory:
            return settings.over_memory
    except (FileNotFoundError, ProcessLookupError):  # it is not mounted yet, or gone
        pass
    return 0


def memory_in(root: str, tmpfs: list[str]) -> int:
    """Bytes that the sandbox's processes have for themselves, share without a file, and keep in its tmpfs, and that the
    kernel may keep for them in sockets and pipes.
    """
    total = 0
    shared: dict[str, int] = {}
    for process in filter(str.isdigit, os.listdir(f"{root}/proc")):
        with suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile
            total += private(f"{root}/proc/{process}/smaps_rollup")
            for name, size in (*shared_segments(f"{root}/proc/{process}/maps"), *buffers(f"{root}/proc/{process}/fd")):
                shared[name] = max(size, shared.get(name, 0))
    for folder in tmpfs:
        seen = os.statvfs(root + folder)
        total += (seen.f_blocks - seen.f_bfree) * seen.f_frsize
    return total + sum(shared.values())


def buffers(folder: str) -> Iterator[tuple[str, int]]:
    """Name and most bytes of the sockets and pipes that a process has open."""
    for file in os.listdir(folder):
        with suppress(FileNotFoundError):
            name = os.readlink(f"{folder}/{file}")
            if size := BUFFERS.get(name.partition(":")[0]):
                yield name, size


def number_in(file: str) -> int:
    with open(file) as text:
        return int(text.read())


def private(file: str) -> int:
    """Bytes that a process has for itself, with its share of what a fork still shares with its parent."""
    with open(file) as lines:
        fields = dict(line.split(":", 1) for line in lines if line.startswith(("Pss_Anon", "SwapPss")))
    return sum(1024 * int(value.split()[0]) for value in fields.values())


def shared_segments(maps: str) -> Iterator[tuple[str, int]]:
    """Name and bytes of what a process shares without a file. All of it counts: what no process looks at stays, too."""
    with open(maps) as lines:
        for line in lines:
            if line.endswith(SHARED):
                place, _, offset, device, inode, *_ = line.split()
                begin, end = (int(one, 16) for one in place.split("-"))
                yield f"{device} {inode}", int(offset, 16) + end - begin


BUFFERS = {  # the most that the kernel keeps in one; a process may ask for twice `wmem_max`
    "socket": 2 * number_in("/proc/sys/net/core/wmem_max"),
    "pipe": number_in("/proc/sys/fs/pipe-max-size"),
}

# The filter of system calls ------------------------------------------------------------------------------------------

# A filter that allows calls one by one would have to follow Python, torch, CUDA's driver, nvcc and each of their
# releases. This one refuses what none of them needs, and every call that is newer than this file. What takes a
# capability, such as `mount`, the kernel refuses by itself.
Numbers = dict[str, tuple[int | None, int | None]]  # call → its number on x86-64, and on aarch64
REFUSED: Numbers = {
    # Read or steer another process: bubblewrap's own, process 1, may have the same user.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # In a user namespace of its own a process has every capability, and most of the kernel's privilege escalations
    # begin there. `clone` with a namespace's flag is refused as well.
    "unshare": (272, 97),
    "setns": (308, 268),
    # A file by its inode, past every mount.
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # Memory that the supervisor cannot count: a file or a segment that no process has to map.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "semget": (64, 190),
    # Parts of the kernel that run programs or keep state for a process, where most of its holes of late were found.
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "add_key": (248, 217),  # keys are shared by all processes of a user
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "modify_ldt": (154, None),
    "personality": (135, 92),  # switches off the randomness of addresses
    "syslog": (103, 116),
    # No page needs a socket but the two ends of a pair, as asyncio and multiprocessing make them. A listener keeps what
    # others sent and closed, and so does a socket that is on its way in a message: memory that cannot be counted.
    "socket": (41, 198),
    "bind": (49, 200),
    "listen": (50, 201),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
}
ABSENT: Numbers = {
    # As on a kernel without them, so that libraries take the older way. What clone3 asks for lies in memory, where no
    # filter sees it; io_uring carries out calls that no filter sees.
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
NEWEST = 462  # mseal, of Linux 6.10; no release of the packages needs a later one
CLONE, SOCKETPAIR = (56, 220), (53, 199)
NAMESPACE_FLAGS = 0x7E020000  # <linux/sched.h>: CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
AF_UNIX = 1  # the only family of pairs: for another one the kernel might load a module

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of Numbers, <linux/audit.h>
X32 = 0x40000000  # a second table of calls for x86-64, with numbers of its own
LOAD, AND, SAME, ABOVE, RETURN = 0x20, 0x54, 0x15, 0x25, 0x06  # <linux/bpf_common.h>, of 32-bit words
KILL, ALLOW, ERROR = 0x80000000, 0x7FFF0000, 0x00050000  # <linux/seccomp.h>
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in its struct seccomp_data


def filter_program(machine: str = platform.machine()) -> bytes:
    """The filter as bubblewrap reads it: instructions of classic BPF. Raises KeyError for a machine that it lacks."""
    column, architecture = MACHINES[machine]
    return b"".join(struct.pack("=HBBI", *one) for one in instructions(column, architecture))


def instructions(column: int, architecture: int) -> Iterator[tuple[int, int, int, int]]:
    """Code, jump where true, jump where false, constant."""
    yield LOAD, 0, 0, ARCHITECTURE
    yield SAME, 1, 0, architecture
    yield RETURN, 0, 0, KILL  # another machine's calls, as 32-bit programs make them, have other numbers
    yield LOAD, 0, 0, NUMBER
    yield ABOVE, 0, 1, X32 - 1
    yield RETURN, 0, 0, KILL
    yield from refusal(ABOVE, NEWEST, errno.ENOSYS)
    for calls, error in ((ABSENT, errno.ENOSYS), (REFUSED, errno.EPERM)):
        for numbers in calls.values():
            if (number := numbers[column]) is not None:
                yield from refusal(SAME, number, error)
    yield SAME, 0, 4, CLONE[column]
    yield LOAD, 0, 0, ARGUMENTS
    yield AND, 0, 0, NAMESPACE_FLAGS
    yield SAME, 1, 0, 0
    yield RETURN, 0, 0, ERROR | errno.EPERM
    yield SAME, 0, 3, SOCKETPAIR[column]
    yield LOAD, 0, 0, ARGUMENTS
    yield SAME, 1, 0, AF_UNIX
    yield RETURN, 0, 0, ERROR | errno.EINVAL
    yield RETURN, 0, 0, ALLOW


def refusal(test: int, number: int, error: int) -> Iterator[tuple[int, int, int, int]]:
    """This error where the call's number passes the test."""
    yield test, 0, 1, number
    yield RETURN, 0, 0, ERROR | error


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1:]))
