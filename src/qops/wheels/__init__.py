"""Reads what serving engines accept out of their published wheels, to make `qops/data/engines`.

Nothing of an engine is imported or run: a wheel is an archive whose Python files are parsed.
"""
