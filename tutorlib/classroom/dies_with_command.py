"""The first import of the process that workers are forked from, whose other imports take seconds: it dies with the
command.
"""

import os

from tutorlib.machine.lineage import die_with

die_with(os.getppid())
