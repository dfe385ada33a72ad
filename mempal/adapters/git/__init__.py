"""Everything mempal asks of git, hardened against what a repository may contain."""

from mempal.adapters.git.repositories import GitRepositories

__all__ = ["GitRepositories"]
