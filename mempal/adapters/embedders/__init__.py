"""Embedders: what turns text into packed vectors."""
