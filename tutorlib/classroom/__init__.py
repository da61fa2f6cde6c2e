"""Grades a class: from a folder of hand-ins to a gradebook, reports and files for Moodle and Canvas."""


class CannotGrade(Exception):
    """The command cannot go on, over a file, a disk, or what was asked for. One line: what is wrong, and what to do."""
