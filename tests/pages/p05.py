"""Page 05: what rows of p05.txt are made of."""

from tests.pages.table import solved

__all__ = ["solved"]
