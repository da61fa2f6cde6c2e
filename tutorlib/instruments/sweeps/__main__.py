"""Launches the kernels of a sweep once each, for a profiler to watch: python -m tutorlib.instruments.sweeps NAME"""

import sys

from tutorlib.instruments.sweeps import make_sweep
from tutorlib.instruments.sweeps.sweep import launch_for_profiler

launch_for_profiler(make_sweep(sys.argv[1]))
