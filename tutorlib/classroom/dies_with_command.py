"""Ties the fork server to the command: it dies with it. Imported first, as the server's other imports take seconds."""

import os

from tutorlib.machine.lineage import die_with

die_with(os.getppid())
