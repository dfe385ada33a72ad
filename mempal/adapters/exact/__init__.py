"""The exact index: every stored vector compared with the question, in one file, with numpy."""

from mempal.adapters.exact.index import ExactIndex

__all__ = ["ExactIndex"]
