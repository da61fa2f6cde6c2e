"""Layouts: their notation, the data of their pictures, and the real CuTe as an oracle."""
