"""From files to drawers: walk, decode, cut, store."""

from mempal.ingest.chunk import chunk_conversation, chunk_text

__all__ = ["chunk_conversation", "chunk_text"]
