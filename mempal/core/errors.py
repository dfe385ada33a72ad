"""Every error mempal raises on purpose, in one tree.

::

    MempalError                 exit 1
    ├── UsageError              exit 2   the request makes no sense as asked
    │   ├── InvalidFolderError           a project's folder is relative or has a ``..`` part
    │   ├── CannotInferPartnerError      the partner of nobody, or of somebody unknown
    │   └── SelfPeekError                a tool asked to look at itself
    ├── NotFoundError           exit 3   the named thing is not there
    ├── BusyError               exit 4   somebody else holds it; trying again may work
    │   └── InboxFullError               the partner has to read before more can be written
    ├── MessageTooLargeError    exit 1   a message has more bytes than one may have
    ├── InboxError              exit 1   a file of the inbox cannot be read or written
    ├── ConfigError             exit 1   a configuration file or value is wrong
    ├── PalaceError             exit 1   the stored palace cannot be used as it is
    │   ├── DamagedError                 a file of the palace is not what it should be
    │   ├── SchemaError                  the database was written by a newer mempal
    │   └── EmbedderMismatchError        the palace was embedded with another model
    ├── EmbedderError           exit 1   the embedder cannot be loaded or did not answer
    └── SourceError             exit 1   what should be mined cannot be read

Each error carries a ``hint``, the next step for whoever reads it. Adapters translate foreign
exceptions into this tree; only the CLI root, the MCP error mapper and the hook entry catch its
root.
"""


class MempalError(Exception):
    """Root of the tree: a request that failed for a reason its reader can act on.

    Attributes:
        exit_code: Process exit code of a command that ends with this error.
        code: Stable name of the kind of error, for scripts.
        retryable: Whether the same request may succeed later without a change.
    """

    exit_code = 1
    code = "failed"
    retryable = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(MempalError):
    """The request makes no sense as asked."""

    exit_code = 2
    code = "usage"


class InvalidFolderError(UsageError):
    """The folder of a project is not absolute, or has a ``..`` part."""

    code = "invalid_cwd"


class CannotInferPartnerError(UsageError):
    """The partner of nobody, or of somebody unknown, was asked for."""

    code = "cannot_infer_partner"


class SelfPeekError(UsageError):
    """A tool asked to look at itself."""

    code = "self_peek"


class NotFoundError(MempalError):
    """The named drawer, wing or file is not there."""

    exit_code = 3
    code = "not_found"


class BusyError(MempalError):
    """Another process holds what is needed; trying again may work."""

    exit_code = 4
    code = "busy"
    retryable = True


class InboxFullError(BusyError):
    """An inbox takes no more.

    Attributes:
        count: Messages in it.
        size: Bytes in it.
    """

    code = "inbox_full"

    def __init__(self, count: int, size: int, limits: tuple[int, int]) -> None:
        super().__init__(
            f"inbox full: {count} messages / {size} bytes"
            f" (limits: {limits[0]} messages / {limits[1]} bytes)",
            hint="the partner has to drain it first: its next prompt does",
        )
        self.count = count
        self.size = size


class MessageTooLargeError(MempalError):
    """A message has more bytes than one may have.

    Attributes:
        size: Its bytes.
        limit: The most allowed.
    """

    code = "message_too_large"

    def __init__(self, size: int, limit: int, what: str = "the message") -> None:
        super().__init__(
            f"{what} has {size} bytes, at most {limit} are allowed",
            hint="shorten it, or put it into a file and send the file's path",
        )
        self.size = size
        self.limit = limit


class InboxError(MempalError):
    """A file of the inbox cannot be read or written."""

    code = "inbox"


class ConfigError(MempalError):
    """A configuration file or value is wrong."""

    code = "config"


class PalaceError(MempalError):
    """The stored palace cannot be used as it is."""

    code = "palace"


class DamagedError(PalaceError):
    """A file of the palace is not what it should be."""

    code = "damaged"


class SchemaError(PalaceError):
    """The database was written by a newer mempal."""

    code = "schema"


class EmbedderMismatchError(PalaceError):
    """The palace was embedded with another model than the one configured.

    Attributes:
        stored: Identity of the embedder the palace was written with.
        configured: Identity of the embedder that was asked for.
    """

    code = "embedder_mismatch"

    def __init__(self, stored: str, configured: str) -> None:
        super().__init__(
            f"this palace was embedded with {stored}, but {configured} is configured",
            hint=(
                "run `mempal reindex --reembed` to embed it again,"
                " or restore the former embed.* settings"
            ),
        )
        self.stored = stored
        self.configured = configured


class VectorsMissingError(PalaceError):
    """Texts are new to a source that had them when it was asked which vectors it lacks.

    Another process changed the source in between; asking again finds them. Nothing was written.
    """

    code = "vectors_missing"
    retryable = True

    def __init__(self) -> None:
        super().__init__(
            "another process changed the same source", hint="run it again; nothing is lost"
        )


class EmbedderError(MempalError):
    """The embedder cannot be loaded or did not answer."""

    code = "embedder"


class SourceError(MempalError):
    """What should be mined cannot be read."""

    code = "source"
