"""Everything mempal asks of git, hardened against what a repository may contain."""

from mempal.adapters.git.repositories import GitRepositories, describe_git

__all__ = ["GitRepositories", "describe_git"]
