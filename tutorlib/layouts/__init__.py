"""Layouts: their notation, what a picture shows of them, and the real CuTe as an oracle."""
