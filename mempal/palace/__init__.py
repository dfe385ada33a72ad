"""The palace: one object whose methods are the product's verbs.

The command line and the MCP server call nothing else. Each verb opens what it needs and closes it
again; reading verbs never create a palace.
"""

from mempal.palace.palace import Palace

__all__ = ["Palace"]
