"""In-memory doubles of the ports, for tests and for trying things out.

Each double passes the same contract suite as the real adapters, so a test that uses one stands on
the promises of the port. Standard library only.
"""

from mempal.testing.embedder import HashEmbedder
from mempal.testing.index import MemoryIndex, SavedIndex
from mempal.testing.repositories import MemoryRepositories
from mempal.testing.store import MemoryStore

__all__ = ["HashEmbedder", "MemoryIndex", "MemoryRepositories", "MemoryStore", "SavedIndex"]
