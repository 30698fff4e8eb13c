"""What a repository gets whichever agents work in it."""

from __future__ import annotations

from dibs.install.agents.base import FileEdit
from dibs.install.entries import texts
from dibs.install.entries.pieces import CreateOnce

#: The settings, all of them as comments; a file that is there is never touched.
SETTINGS = FileEdit("dibs.toml", CreateOnce(texts.settings()), "settings")
