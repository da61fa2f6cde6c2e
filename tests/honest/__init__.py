"""Oddities of honest hand-ins: each has full points. answers.py: what stands in an answer's cell; pages.py: around it."""
