"""The record of truth in one SQLite file."""
