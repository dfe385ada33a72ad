"""From a question to cited drawers."""
