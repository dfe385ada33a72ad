"""Where the palace folder is, told with as little as hooks can afford to load."""

import os

HOME_VARIABLE = "MEMPAL_HOME"


def locate_home(option: str | None = None) -> str:
    """Return the palace folder: the option, else ``MEMPAL_HOME``, else ``~/.mempal``."""
    given = option or os.environ.get(HOME_VARIABLE) or os.path.join("~", ".mempal")  # noqa: PTH118
    return os.path.abspath(os.path.expanduser(given))  # noqa: PTH100, PTH111
