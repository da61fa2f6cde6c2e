# The process ends before there is an answer, as if all were well.
# deserves: 0
import os

os._exit(0)
