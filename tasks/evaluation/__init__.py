"""Scoring of trained models on the sets of a task; `scripts/evaluate.py` is the command line over it."""
