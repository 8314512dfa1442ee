"""Rows of many runs -> means and standard deviations, tables, figures; `scripts/compare.py` is the command line."""
