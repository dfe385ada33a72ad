"""Implementations of the ports; each module knows the core and one heavy package, and none knows another."""
