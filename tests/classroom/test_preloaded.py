"""What the process has from which workers are forked, so that no submission pays for it again."""

import os
import subprocess
import sys

from tutorlib.paths import ROOT, SOLUTIONS

LOOK = f"""
import os, sys
import tutorlib.classroom.preloaded
from tutorlib.grading import sandbox
from tutorlib.grading import merged_page
from tutorlib.layouts.oracle import ask
from tensor_layouts import Layout

assert merged_page.pristine_page.cache_info().currsize == {len(list(SOLUTIONS.glob("[0-9][0-9]_*.py")))}
assert ("cutlass" in sys.modules) != any(sandbox.devices())
if not (child := os.fork()):
    os.environ["TMPDIR"] = "judge"  # a judge has a folder of its own
    os._exit(ask([("size", Layout(4, 2)), ("cosize", Layout(4, 2))]) != [4, 7])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_fork_of_it_asks_cute_and_nothing_is_left_for_that_on_disk(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", LOOK]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["judge"]
