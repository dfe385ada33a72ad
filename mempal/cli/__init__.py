"""The ``mempal`` command: parse, call one verb, render."""
