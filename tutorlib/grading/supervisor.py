"""Starts bubblewrap, and ends it when the processes in the sandbox together exceed their limits.

    python -I -S supervisor.py SETTINGS OPTIONS … -- COMMAND …

A program of its own that needs the standard library alone: the judge's process starts it, and it starts in 20 ms.
SETTINGS is `SandboxSettings` as JSON, OPTIONS are bubblewrap's: what the command sees. The exit status is the
command's, 128 and the number of the signal that ended it, or the one of the settings.

Nothing in the sandbox is root on the host. Where root grades, the command runs as a user that the host does not have
otherwise, one for each sandbox: `user_of_its_own`. Root's folders need not be open to that user: bubblewrap mounts
what is below them in a user namespace in which root is still root, and enters a second one, in which it is not there,
before it starts the command. Where another user grades, the command runs as that user.

bubblewrap starts with the variables ITS_OWN, so that those of the grader are in no process of the sandbox.
"""

import ctypes
import fcntl
import json
import os
import re
import resource
import signal
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

LOOK_S = 0.25  # between looks at what the processes take, which cost about a millisecond
UNSEEN = 20  # looks at most that may show nothing
OPEN = 256  # files that a process may have open
INSIDE = 1000  # user and group of the command, in the sandbox
USERS = ((0x70000000, 0x10000000), (61184, 4336))  # first, number: of no use to others (systemd's UIDS-GIDS.md)
ITS_OWN = ("PATH", "LD_LIBRARY_PATH")
FILTER, TOLD, OUTER, INNER = 3, 4, 5, 6  # file descriptors that bubblewrap is given
UNSHARED = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
FOR_ONE = ("--unshare-user", "--disable-userns", "--cap-drop", "ALL")
FOR_ROOT = ("--userns", str(OUTER), "--userns2", str(INNER), "--cap-drop", "ALL")
TO_BECOME = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
BECOME = (
    *("setpriv", f"--reuid={INSIDE}", f"--regid={INSIDE}", "--clear-groups"),
    *("--inh-caps=-all", "--ambient-caps=-all"),
)
CLOSED = ("sh", "-c", 'exec "$@" 3<&- 4<&- 5<&- 6<&-', "sh")  # bubblewrap leaves its namespaces' open
CLONE_NEWUSER, PR_SET_PDEATHSIG = 0x10000000, 1
SHARED = ("/dev/zero (deleted)\n", "/anon_hugepage (deleted)\n")  # how /proc calls memory that is shared without a file


class SandboxSettings(NamedTuple):
    """memory: bytes that a process may allocate, and that all together may use; past it the exit is `over_memory`. The
    limit on a process's data that the supervisor has itself counts where it is lower.

    processes: at a time, threads counted. file: bytes of the largest that may be written. tmpfs: the folders in memory
    that the sandbox has. given: a folder on disk that it may write to; "" for none. filter: the seccomp filter,
    compressed, as hex digits.
    """

    memory: int
    over_memory: int
    processes: int
    file: int
    tmpfs: list[str]
    given: str
    filter: str

    def as_argument(self) -> str:
        return json.dumps(self._asdict())


def supervise(arguments: list[str]) -> int:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    settings = SandboxSettings(**json.loads(arguments[0]))
    settings = settings._replace(memory=within_own_limit(settings.memory, resource.RLIMIT_DATA))
    cut = arguments.index("--")
    options, command = arguments[1:cut], arguments[cut + 1 :]
    spaces = []
    if (user := user_of_its_own()) is not None:
        spaces = user_namespaces(user)
        if settings.given:
            give(settings.given, user)
    unshared = [
        *UNSHARED,
        *(FOR_ROOT + TO_BECOME if spaces else (*FOR_ONE, "--uid", str(INSIDE), "--gid", str(INSIDE))),
    ]
    unshared += ["--die-with-parent", "--new-session", "--seccomp", str(FILTER), "--info-fd", str(TOLD)]
    limited = ["prlimit", f"--nproc={settings.processes}", *command]  # in front of it this user's others would count
    inner = [*CLOSED, *(BECOME if spaces else ()), *limited]
    told, tell = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    if not (bubblewrap := os.fork()):
        pass_on(settings.filter, tell, spaces)
        limits = {resource.RLIMIT_DATA: settings.memory, resource.RLIMIT_FSIZE: settings.file}
        for kind, most in (limits | {resource.RLIMIT_NOFILE: OPEN, resource.RLIMIT_CORE: 0}).items():
            resource.setrlimit(kind, 2 * (within_own_limit(most, kind),))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        known = {name: os.environ[name] for name in ITS_OWN if name in os.environ}
        os.execvpe("bwrap", ["bwrap", *unshared, *options, "--", *inner], known)
    os.close(tell)
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


def user_namespaces(user: int) -> list[int]:
    """Files of two user namespaces: one with root and this user, and within it one with this user alone, as INSIDE.

    Raises OSError.
    """
    held, hold = os.pipe()  # both namespaces have a process as long as `hold` is open
    told, tell = os.pipe()

    def wait() -> None:
        os.close(hold)
        os.read(held, 1)

    def nest() -> None:
        inner = in_namespace(f"{INSIDE} {user} 1", wait)
        os.write(tell, str(inner).encode())
        os.close(hold)
        os.waitpid(inner, 0)

    outer = in_namespace(f"0 0 1\n{user} {user} 1", nest)
    os.close(tell)
    if not (inner := os.read(told, 32)):
        raise OSError("root may not build user namespaces here")
    found = [os.open(f"/proc/{process}/ns/user", os.O_RDONLY) for process in (outer, int(inner))]
    os.close(hold)
    os.waitpid(outer, 0)
    return found


def in_namespace(users: str, then: Callable[[], None]) -> int:
    """A new process in a user namespace of its own, which does `then` and ends. users: the namespace's, and groups."""
    told, tell = os.pipe()
    mapped, go = os.pipe()
    if not (process := os.fork()):
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER):
                raise OSError(ctypes.get_errno(), "unshare")
            os.write(tell, b".")
            os.read(mapped, 1)
            then()
        finally:
            os._exit(0)
    os.close(tell)
    if os.read(told, 1):
        for kind in ("uid", "gid"):
            with open(f"/proc/{process}/{kind}_map", "w") as file:
                file.write(users)
    os.write(go, b".")
    return process


def pass_on(program: str, tell: int, spaces: list[int]) -> None:
    """Make these bubblewrap's file descriptors FILTER, TOLD, OUTER and INNER."""
    source = os.memfd_create("filter")
    os.write(source, zlib.decompress(bytes.fromhex(program)))
    os.lseek(source, 0, os.SEEK_SET)
    moved = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, INNER + 1) for one in (source, tell, *spaces)]
    for target, one in enumerate(moved, FILTER):
        os.dup2(one, target)


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
        # `private` counts twice what a fork shares with its parent; to count it once takes longer
        if all(memory_in(root, settings.tmpfs, way) > settings.memory for way in (private, proportional)):
            return settings.over_memory
    except (FileNotFoundError, ProcessLookupError):  # it is not mounted yet, or gone
        pass
    return 0


def memory_in(root: str, tmpfs: list[str], of: Callable[[str], int]) -> int:
    """Bytes that the sandbox's processes have for themselves, share without a file, and keep in its tmpfs, and that the
    kernel may keep for them in sockets and pipes.
    """
    total = 0
    shared: dict[str, int] = {}
    for process in filter(str.isdigit, os.listdir(f"{root}/proc")):
        with suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile
            total += of(f"{root}/proc/{process}")
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


def private(process: str) -> int:
    return sum(kilobytes(f"{process}/status", b"RssAnon", b"VmSwap"))


def proportional(process: str) -> int:
    return sum(kilobytes(f"{process}/smaps_rollup", b"Pss_Anon", b"SwapPss"))


def kilobytes(file: str, *names: bytes) -> Iterator[int]:
    """The values after these names in a file of /proc, in bytes."""
    with open(file, "rb") as lines:
        for line in lines:
            name, _, value = line.partition(b":")
            if name in names:
                yield 1024 * int(value.split()[0])


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

if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1:]))
