"""Foreign content on the branch: odd names, odd contents, files in the way."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dibs.errors import Misconfigured
from dibs.testing.steps import entries, event, everything, put

DEEP = b"[" * 100_000


class Bare:
    """A remote to which anyone can push anything."""

    def __init__(self, path):
        self.path = path
        subprocess.run(["git", "init", "-q", "--bare", path], check=True)

    def __str__(self):
        return str(self.path)

    def git(self, *argv, data=None, **environ):
        argv = ["git", "-C", str(self.path), "-c", "user.name=x", "-c", "user.email=x@y", *argv]
        environ = {**os.environ, **environ}
        return subprocess.run(
            argv, input=data, env=environ, check=True, capture_output=True
        ).stdout.strip()

    def land(self, path, content, *, mode=b"100644"):
        """Add a commit that sets one file."""
        index = {"GIT_INDEX_FILE": str(self.path / "index.new")}
        blob = self.git("hash-object", "-w", "--stdin", data=content)
        there = self.git("for-each-ref", "refs/heads/dibs")
        self.git("read-tree", "dibs" if there else "--empty", **index)
        row = mode + b" " + blob + b"\t" + path + b"\0"
        self.git("update-index", "-z", "--index-info", data=row, **index)
        tree = self.git("write-tree", **index)
        parents = ("-p", "dibs") if there else ()
        commit = self.git("commit-tree", *parents, "-m", "x", tree.decode())
        self.git("update-ref", "refs/heads/dibs", commit.decode())

    def files(self):
        """Return mode, blob, and content of each file, by path."""
        rows = self.git("ls-tree", "-rz", "dibs").split(b"\0")
        pairs = (row.partition(b"\t") for row in rows if row)
        return {path: told.split()[::2] for told, _, path in pairs}

    def show(self, path):
        return self.git("cat-file", "blob", f"dibs:{path}")


@pytest.fixture
def bare(tmp_path):
    return Bare(tmp_path / "remote.git")


# -- names


@pytest.mark.parametrize("folder", [b"dibs", b"current_tasks", b"tasks/pending", b"src", b"\xfe"])
def test_a_file_with_a_non_text_name_is_not_changed(machine, bare, folder):
    path = folder + b"/\xff.lock\n\xe9.row"
    bare.land(path, b"mine")
    before = bare.files()[path]

    for name in ("here", "other"):
        put(machine(name), **{name: "v"})
        assert [key for key, _ in everything(machine(name))][-1] == name

    assert bare.files()[path] == before


def test_file_names_do_not_depend_on_the_locale(machine, bare, tmp_path):
    environ = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    script = (
        "import sys; from dibs.engines.git.engine import GitEngine;"
        "engine = GitEngine(sys.argv[1], state=sys.argv[2]);"
        "engine.transact(lambda txn: txn.put('caf\\u00e9', 'v')); engine.close()"
    )
    argv = [sys.executable, "-c", script, str(bare.path), str(tmp_path / "plain")]
    subprocess.run(argv, env={**environ, "PYTHONPATH": ":".join(sys.path)}, check=True)

    assert everything(machine()) == [("caf\u00e9", "v")]


@pytest.mark.parametrize(
    ("path", "mode", "key"),
    [
        (b"dibs/k.row", b"120000", "k"),
        (b"dibs/k.row/x", b"100644", "k"),
        (b"dibs/meta.json/x", b"100644", "k"),
    ],
)
def test_something_in_the_place_of_our_file_is_reported_and_kept(machine, bare, path, mode, key):
    bare.land(path, b"mine", mode=mode)
    before = bare.files()

    with pytest.raises(Misconfigured) as caught:
        put(machine(), **{key: "v"})

    assert caught.value.code == "REMOTE_TREE"
    assert bare.files() == before
    assert everything(machine()) == []


LONG = [
    "at/src/" + "x" * 240 + ".py//agent-with-a-name/c2",
    "at/src/" + "x" * 241 + ".py//agent-with-a-name/c2",
    "at/" + "a:" * 100 + "b//a/c2",
    "at/" + "\u00fc" * 120 + "/" + "\U0001f600" * 60 + "//a/c3",
    "at/" + "y" * 250 + "/z//a/c4",
    "at/" + "/".join(["some-folder-of-many"] * 64) + "//a/c5",
    "at/" + "/".join(["some-folder-of-many"] * 63) + "//a/c5",
    "at/" + "/".join(["long" * 50 + ":"] * 19) + "\n//a/c5",
    "req/a/" + "%" * 128,
    "long" * 90,
]


def test_a_branch_with_long_keys_can_be_checked_out_and_read(machine, bare, tmp_path):
    put(machine(), **{key: f"{key}\nmore" for key in LONG})

    subprocess.run(["git", "clone", "-q", "-b", "dibs", bare.path, tmp_path / "clone"], check=True)

    assert everything(machine("other")) == sorted((key, f"{key}\nmore") for key in LONG)
    bare.git("fsck", "--strict")
    put(machine("other"), **dict.fromkeys(LONG, "v"))
    assert everything(machine()) == sorted((key, "v") for key in LONG)


@pytest.mark.parametrize(
    "content", [b"", b"v\n", b"key: 7\nv\n", b'key: "k"\nv\n', b'key: "\nv\n', b"key: [" + DEEP]
)
def test_a_file_with_a_digest_but_without_its_key_is_a_damaged_row(machine, bare, content):
    path = "dibs/at/x~0123456789abcdef0123456789abcdef.row"
    bare.land(path.encode(), content)
    bare.land(b"dibs/%ED%A0%80.row", b"v\n")

    found = everything(machine())

    # The key "k" is readable, but another file is the one for it.
    expected = [] if b'"k"' in content else [(f"damaged/{path}", f"damaged: {content.decode()}")]
    assert found == expected


# -- contents


@pytest.mark.parametrize("content", [b"", b"7", b"\xff", DEEP, b"<<<<<<< HEAD\n{}"])
def test_damage_to_the_state_description_is_reported(machine, bare, content):
    put(machine(), k="v")
    good = bare.show("dibs/meta.json")
    bare.land(b"dibs/meta.json", content)

    for name in ("here", "other"):
        with pytest.raises(Misconfigured) as caught:
            put(machine(name), k="w")
        assert caught.value.code == "REMOTE_META"

    bare.land(b"dibs/meta.json", good)
    put(machine(), k="x")
    assert everything(machine("other")) == [("k", "x")]


def line(**fields):
    """Return a line of the ledger, with JSON text for each field that differs."""
    usual = {"seq": "2", "at": "1.0", "agent": '"a"', "role": '"r"', "kind": '"k"'}
    fields = {**usual, "summary": '"s"', "details": "{}", **fields}
    return "{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}\n"


@pytest.mark.parametrize(
    "spoiled",
    [
        *(DEEP.decode(), "\xff", "null\n", line(details='{"x":' * 100_000), line(seq="true")),
        *(line(summary=r'"\ud800"'), line(agent=r'"\udfff"'), line(details=r'{"x":"\ud800"}')),
        *(line(at="NaN"), line(at="1" + "0" * 400), line(details="[]"), line(details='{"x":NaN}')),
    ],
)
def test_a_damaged_line_of_the_ledger_is_skipped(machine, bare, spoiled):
    machine().transact(lambda txn: txn.emit(event("first")))
    path = "dibs/ledger/000000000000.jsonl"
    bare.land(path.encode(), bare.show(path) + b"\n" + spoiled.encode("latin-1"))

    for name in ("here", "other"):
        machine(name).transact(lambda txn: txn.emit(event("more")))

    assert [entry.seq for entry in entries(machine("third"))] == [1, 2, 3]
