"""Datasets: their items, which come, go and are corrected."""
