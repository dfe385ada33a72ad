"""What the other tool has said lately: the end of its transcript, read and never written."""

from mempal.core.errors import CannotInferPartnerError, SelfPeekError
from mempal.cowork.peek.partner import Peek, find_sessions, peek

__all__ = ["CannotInferPartnerError", "Peek", "SelfPeekError", "find_sessions", "peek"]
