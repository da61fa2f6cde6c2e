"""An outer sandbox, around a command that grades attacks: should the grader's own fall, this machine does not."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from tutorlib.paths import ROOT

# Own processes, and folders that cannot be written; after the command, what runs on for seconds. PID 1 is the shell.
SCRIPT = """
left=$1; shift
while [ "$1" != -- ]; do mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 126; shift; done; shift
"$@"; status=$?
look() { for process in /proc/[0-9]*; do [ $process = /proc/1 ] || tr '\\0' ' ' < $process/cmdline; done; }
looks=0; while look > "$left" 2>&-; [ -s "$left" ] && [ $looks -lt 50 ]; do looks=$((looks + 1)); sleep 0.1; done
exit $status
"""
APART = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")


@cache
def why_not() -> str:
    """Why no outer sandbox can be built on this machine; "" where one can."""
    try:
        done = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unshare is missing"
    return done.stderr.strip()


def within(command: list[str], left: Path) -> list[str]:
    """The command that runs another one in the sandbox.

    It writes neither to the course nor to Python nor to anybody's home, and sees no process but its own. What it
    leaves running, for longer than helpers need to hear of its end, is killed, and listed in the file `left`.
    """
    kept = dict.fromkeys(map(os.path.realpath, (ROOT, sys.prefix, sys.base_prefix, Path.home())))
    return [*APART, "sh", "-c", SCRIPT, "sh", str(left), *kept, "--", *command]
