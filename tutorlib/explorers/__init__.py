"""Explorers: pictures that answer to a click."""
