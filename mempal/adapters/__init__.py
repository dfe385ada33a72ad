"""Implementations of the ports.

Each module knows the core and one heavy package, and none knows another.
"""
