"""One wire: messages of declared kinds, encoded, checked, counted and logged."""

from colonnade.wire.message import KINDS, Kind, Message
from colonnade.wire.meter import Traffic
from colonnade.wire.wire import Wire

__all__ = ["KINDS", "Kind", "Message", "Traffic", "Wire"]
