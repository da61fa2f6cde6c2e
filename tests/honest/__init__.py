"""Oddities of honest hand-ins: each has full points. In an answer's cell, around it, and in the file."""
