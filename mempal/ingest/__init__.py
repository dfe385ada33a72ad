"""From files to drawers: walk, decode, cut, store."""
