"""What a repository gets whichever agents work in it."""

from __future__ import annotations

from dibs.wiring import texts
from dibs.wiring.agents.base import Wish
from dibs.wiring.pieces import Once

#: The settings, all of them as comments; a file that is there is never touched.
SETTINGS = Wish("dibs.toml", Once(texts.settings()), "settings")
