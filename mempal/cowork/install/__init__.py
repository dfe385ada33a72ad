"""The hooks of Claude Code and Codex that bring a partner's messages, put in and taken out.

The settings files are the user's: of each, only our own handler is ever written, and a file that
cannot be understood is refused and left as it is.
"""

from mempal.cowork.install.verbs import Report, Result, install_hooks, uninstall_hooks

__all__ = ["Report", "Result", "install_hooks", "uninstall_hooks"]
