"""Page 00: answers that are whole functions, and what rows of p00.txt are made of."""

import math

from cuda import tile as ct
