"""Generic addresses (PTX ISA, 6.4.1.1): where the shared, local and parameter spaces lie among them.

Global addresses are those of the host, below 2^47; each other space has a window above. In the window of a cluster's
shared memory the block of rank r begins at (r + 1) << PEER_BITS, and each block's own also at 0.
"""

SHARED = 1 << 56
LOCAL = 1 << 57
PARAM = 1 << 58
WINDOW = {"shared": SHARED, "local": LOCAL, "param": PARAM}
PEER_BITS = 24
