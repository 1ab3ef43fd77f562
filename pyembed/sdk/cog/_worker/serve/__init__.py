"""Serving predictions: the loops of a worker, its setup, health and preload process."""
