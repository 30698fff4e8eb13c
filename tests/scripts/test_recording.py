"""The recording in the README shows what Dibs prints, and is a self-contained file."""

from __future__ import annotations

import re

import pytest
from scripts.recording import FILE, record, text_of


@pytest.mark.slow
def test_the_recording_shows_what_dibs_prints_today(programs):
    shown, now = text_of(FILE.read_text("utf-8")), text_of(record(programs))

    assert shown == now, "run: .venv/bin/python scripts/recording.py"
    assert "Dibs blocked this edit." in now


def test_the_recording_needs_no_script_and_no_other_host():
    svg = FILE.read_text("utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")

    assert re.findall(r"https?://|<script|<image|@import|@font-face", svg) == []
    assert len(svg) < 40_000
