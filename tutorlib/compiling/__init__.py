"""Compilers: CuTe, cuTile and Tile C++ for any GPU on any machine, and readers of their output."""
