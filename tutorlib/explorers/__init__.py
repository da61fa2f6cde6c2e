"""Explorers: pictures that respond to clicks."""
