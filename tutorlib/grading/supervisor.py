"""Starts bubblewrap, and ends it when the processes in the sandbox together exceed their limits.

    python -I -S supervisor.py SETTINGS OPTIONS … -- COMMAND …

A program of its own that needs the standard library alone: the judge's process starts it, and it starts in 20 ms.
SETTINGS is `SandboxSettings` as JSON, OPTIONS are bubblewrap's: what the command sees. The exit status is the
command's, 128 and the number of the signal that ended it, or `over_memory` of the settings.

Nothing in the sandbox is root on the host. Where root grades, the command runs as a user that the host does not have
otherwise, one for each sandbox. Root's folders need not be open to that user: bubblewrap mounts what is below them in
a user namespace that has root and this user, and the command then becomes this user. Where another user grades, the
command runs as that user. It has no capabilities either way, and can get none: the kernel makes no user namespace for
it, nor any other.

bubblewrap starts with the variables ITS_OWN, so that those of the grader are in no process of the sandbox.
"""

import ctypes
import json
import os
import re
import resource
import signal
import sys
from contextlib import suppress
from typing import NamedTuple

LOOK_S = 0.25  # between looks at what the processes take, which cost some milliseconds
UNSEEN = 20  # looks at most that may show nothing
OPEN = 256  # files that a process may have open
INSIDE = 1000  # user and group of the command, in the sandbox
USERS = ((0x70000000, 0x10000000), (61184, 4336))  # first, number: of no use to others (systemd's UIDS-GIDS.md)
ITS_OWN = ("PATH", "LD_LIBRARY_PATH")
TOLD = 3  # bubblewrap's file descriptor for what it tells of its process
UNSHARED = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--info-fd", str(TOLD)),
)
FOR_ONE = ("--unshare-user", "--disable-userns", "--uid", str(INSIDE), "--gid", str(INSIDE))
FOR_ROOT = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
BECOME = (
    *("setpriv", f"--reuid={INSIDE}", f"--regid={INSIDE}", "--clear-groups"),
    *("--inh-caps=-all", "--ambient-caps=-all"),
)
CLONE_NEWUSER, PR_SET_PDEATHSIG = 0x10000000, 1
COUNTED = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")  # lines of /proc/PID/smaps_rollup: a process's share of pages


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
    parent = os.getpid()
    if not (bubblewrap := os.fork()):
        os.close(go)
        if user is not None and libc.unshare(CLONE_NEWUSER):
            raise OSError(ctypes.get_errno(), "root may not build user namespaces here")
        os.write(ask, b".")
        os.read(mapped, 1)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a new namespace has taken back what was set before
        if os.getppid() != parent:  # which has ended meanwhile
            os._exit(1)
        if user is not None:
            with open("/proc/sys/user/max_user_namespaces", "w") as file:  # in its own a process has every capability
                file.write("0")
        os.dup2(tell, TOLD)
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
    for entry in os.scandir(folder):
        os.chown(entry.path, user, user, follow_symlinks=False)
    os.chown(folder, -1, user)
    os.chmod(folder, 0o770)


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
    """Bytes that the sandbox's processes have mapped, what they share counted once, and those in its tmpfs."""
    total = 0
    for process in filter(str.isdigit, os.listdir(f"{root}/proc")):
        with suppress(FileNotFoundError, ProcessLookupError), open(f"{root}/proc/{process}/smaps_rollup") as lines:
            total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith(COUNTED))
    for folder in tmpfs:
        seen = os.statvfs(root + folder)
        total += (seen.f_blocks - seen.f_bfree) * seen.f_frsize
    return total


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1:]))
