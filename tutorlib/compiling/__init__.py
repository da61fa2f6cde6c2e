"""Compilers: CuTe, cuTile and Tile C++ for any GPU on any machine, and what can be read from what they made."""
