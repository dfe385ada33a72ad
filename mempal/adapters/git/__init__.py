"""Everything mempal asks of git, hardened against what a repository may contain."""
