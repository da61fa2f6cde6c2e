"""Hints for what went wrong: a module for each page that has many, exercise → its remedies."""
