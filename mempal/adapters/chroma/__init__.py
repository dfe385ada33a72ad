"""The approximate index for large palaces: ChromaDB, embedded or as a server."""

from mempal.adapters.chroma.index import ChromaIndex

__all__ = ["ChromaIndex"]
