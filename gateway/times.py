"""Times as people and agents read them."""

from __future__ import annotations

from shared.times import iso

__all__ = ["iso"]
