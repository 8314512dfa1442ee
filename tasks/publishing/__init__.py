"""Trained models as repositories of the Hub: a folder that is a checkpoint and a run at once, its card, its upload."""
