"""The table of store keys is complete, and its owners exist."""

import ast
from pathlib import Path

import pytest

import dibs
from dibs.services.state import keys

SERVICES = Path(dibs.__file__).parent / "services"
PREFIXES = {value for name, value in vars(keys).items() if name.isupper() and name != "TABLE"}


def test_each_prefix_is_in_the_table():
    listed = [key for rows in keys.TABLE.values() for key, _, _ in rows]

    assert [p for p in sorted(PREFIXES) if not any(key.startswith(p) for key in listed)] == []


def test_no_prefix_is_the_start_of_another_one():
    pairs = [(a, b) for a in PREFIXES for b in PREFIXES if a != b and b.startswith(a)]

    assert pairs == []


def test_each_owner_is_a_module():
    assert [owner for owner in keys.TABLE if not (SERVICES / f"{owner}.py").is_file()] == []


#: Methods of a transaction; ``txn.now`` is not a row.
ACTS = {f"txn.{act}" for act in ("get", "put", "delete", "scan", "emit", "events", "restore")}
#: Also the prefix of agents' branches.
BRANCHES = keys.AGENT


def sources():
    for path in sorted(SERVICES.parent.rglob("*.py")):
        name = path.relative_to(SERVICES.parent).as_posix()
        if not name.startswith(("services/state/", "engines/", "testing/")):
            yield name, path.read_text("utf-8")


def transactions(source):
    """Return the lines of a source file that use a transaction."""
    tree = ast.parse(source if "txn" in source else "")
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return [n.lineno for n in used if n.attr == "txn" or ast.unparse(n) in ACTS]


def prefixes(source):
    """Return the lines of a source file that spell a key prefix, whole or at the start of a text."""
    prefixes = {prefix for prefix in PREFIXES if prefix.endswith("/")} - {BRANCHES}
    tree = ast.parse(source)
    starts = [n.values[0] for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) and n.values]
    begun = {n.lineno for n in starts if isinstance(n, ast.Constant) and n.value in prefixes}
    whole = {
        n.lineno for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value in prefixes
    }
    return sorted(begun | whole)


def test_only_the_state_services_use_the_transaction():
    assert [(name, lines) for name, text in sources() if (lines := transactions(text))] == []


def test_only_the_state_services_spell_keys():
    found = [
        (name, lines)
        for name, text in sources()
        if name.startswith("services/") and (lines := prefixes(text))
    ]

    assert found == []


@pytest.mark.parametrize(
    "source", ["rows.txn.get(key)", "def step(txn):\n    txn.put(key, '')", "self._rows.txn.now"]
)
def test_a_use_of_the_transaction_is_detected(source):
    assert transactions(source)


@pytest.mark.parametrize("source", ["LEFT = 'left/'", "rows.get(f'left/{name}')"])
def test_a_spelled_key_is_detected(source):
    assert prefixes(source)
