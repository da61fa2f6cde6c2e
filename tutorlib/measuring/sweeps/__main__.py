"""Launches the kernels of a sweep once each, for a profiler to watch: python -m tutorlib.measuring.sweeps NAME"""

import sys

from tutorlib.measuring.sweeps import make_sweep
from tutorlib.measuring.sweeps.sweep import launch_for_profiler

launch_for_profiler(make_sweep(sys.argv[1]))
