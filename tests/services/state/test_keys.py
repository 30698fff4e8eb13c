"""The table of store keys is complete, and its owners exist."""

from pathlib import Path

import dibs
from dibs.services.state import keys

SERVICES = Path(dibs.__file__).parent / "services"
PREFIXES = {value for name, value in vars(keys).items() if name.isupper() and name != "TABLE"}


def test_each_prefix_is_in_the_table():
    listed = [key for rows in keys.TABLE.values() for key, _, _ in rows]

    assert [p for p in sorted(PREFIXES) if not any(key.startswith(p) for key in listed)] == []


def test_no_prefix_begins_another_one():
    pairs = [(a, b) for a in PREFIXES for b in PREFIXES if a != b and b.startswith(a)]

    assert pairs == []


def test_each_owner_is_a_module():
    assert [owner for owner in keys.TABLE if not (SERVICES / f"{owner}.py").is_file()] == []
