"""One wire: messages of declared kinds, encoded, checked, counted and logged."""

from colonnade.wire.kind import Kind, Kinds
from colonnade.wire.message import Message
from colonnade.wire.meter import Traffic
from colonnade.wire.wire import Wire

__all__ = ["Kind", "Kinds", "Message", "Traffic", "Wire"]
