"""What a repository gets whichever agents work in it."""

from __future__ import annotations

from dibs.install.agents.base import Wish
from dibs.install.entries import texts
from dibs.install.entries.pieces import Once

#: The settings, all of them as comments; a file that is there is never touched.
SETTINGS = Wish("dibs.toml", Once(texts.settings()), "settings")
