"""The seccomp filter of the sandbox: which system calls it refuses, and why.

A filter that allows calls one by one would have to follow Python, torch, CUDA's driver, nvcc and each of their
releases. This one refuses what none of them needs, and every call that is newer than this file.
"""

import errno
import platform
import struct
from collections.abc import Iterator

# Call → its number on x86-64 and on aarch64, from the kernel's <asm/unistd_64.h> and <asm-generic/unistd.h>.
Numbers = dict[str, tuple[int | None, int | None]]

OTHER_PROCESSES: Numbers = {
    # Read or steer another process: bubblewrap's own, process 1, has the same user.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
}
NAMESPACES: Numbers = {
    # Enter another namespace, or change what is mounted. In a new user namespace a process has every capability, and
    # most of the kernel's privilege escalations begin there. `clone` with a namespace's flag is refused as well.
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),  # with the next: a file by its inode, past every mount
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
}
MEMORY_OF_NO_PROCESS: Numbers = {
    # Memory that the supervisor cannot count: a file or a segment that no process has to map.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "semget": (64, 190),
}
ENGINES: Numbers = {
    # Parts of the kernel that run programs or keep state for a process, where most of its holes of late were found.
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),  # keys are shared by all processes of a user
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, None),
}
MACHINE: Numbers = {
    # Only the machine's administrator may call these, and a program that computes has no use for them.
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "personality": (135, 92),  # switches off the randomness of addresses
}
NETWORK: Numbers = {
    # No page needs a socket but the two ends of a pair, as asyncio and multiprocessing make them. A listener keeps what
    # others sent and closed, and so does a socket that is on its way in a message: memory that cannot be counted.
    "socket": (41, 198),
    "bind": (49, 200),
    "listen": (50, 201),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
}
REFUSED = OTHER_PROCESSES | NAMESPACES | MEMORY_OF_NO_PROCESS | ENGINES | MACHINE | NETWORK
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
