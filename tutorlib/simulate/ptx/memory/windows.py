"""Generic addresses (PTX ISA, 6.4.1.1): where the shared, local and parameter spaces lie among them.

Global addresses are those of the host, below 2^47; each other space has a window above.
"""

SHARED = 1 << 56
LOCAL = 1 << 57
PARAM = 1 << 58
WINDOW = {"shared": SHARED, "local": LOCAL, "param": PARAM}
