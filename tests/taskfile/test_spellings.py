"""The page on task files lists every spelling that is read."""

import re
from pathlib import Path

import pytest

from dibs.taskfile import spellings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "task-files.md"
WORDS = set(re.findall(r"`([^`\n]+)`", PAGE.read_text("utf-8")))
SPELLED = {word.lower().replace("-", "_").replace("status: ", "") for word in WORDS}


@pytest.mark.parametrize(
    "word",
    sorted(
        {
            *spellings.STATUSES,
            *spellings.PRIORITY_WORDS,
            *spellings.DEPENDENCIES,
            *(alias for aliases in spellings.ALIASES.values() for alias in aliases),
        }
        - {"inreview"}
    ),
)
def test_a_spelling_that_is_read_is_documented(word):
    assert word in SPELLED


@pytest.mark.parametrize(
    "key", [key for key in spellings.ORDER if key not in spellings.DEPENDENCIES]
)
def test_a_field_is_documented(key):
    assert key in SPELLED
