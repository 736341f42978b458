"""Chat messages and items in every dialect: what was said, called and returned, and what of it was
not understood."""

from reviewer.importing.messages.transcript import Transcript, tokens_of, usage_of
from reviewer.importing.messages.turns import is_message, turn_of

__all__ = ["Transcript", "is_message", "tokens_of", "turn_of", "usage_of"]
