"""Value types, ports and rules that every other part of mempal stands on; standard library only."""
