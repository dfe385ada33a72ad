"""Chat transcripts: what was said, by whom and when, out of the files that other tools keep."""
