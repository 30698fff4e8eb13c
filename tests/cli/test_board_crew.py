"""The board with several processes, clones, and engines, through the real command."""

import json
import subprocess

import pytest

from .conftest import PROGRAM


def run(folder, *words):
    done = subprocess.run(
        [*PROGRAM, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def answer(folder, *words):
    status, out, err = run(folder, *words, "--json")
    assert status == 0, (words, out, err)
    return json.loads(out)


def git(folder, *words):
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(params=["git", "redis"])
def clones(request, tmp_path, monkeypatch):
    """Two clones of one repository that share a store, like two machines."""
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", remote], check=True)
    url = "git:origin" if request.param == "git" else request.getfixturevalue("redis_url")
    monkeypatch.setenv("DIBS_ENGINE", url)
    folders = []
    for name in ("one", "two"):
        folder = tmp_path / name
        subprocess.run(["git", "clone", "-q", remote, folder], check=True, capture_output=True)
        folders.append(folder)
    return folders


def test_two_clones_share_one_board_and_each_shows_it_in_its_files(clones):
    one, two = clones
    made = answer(one, "task", "new", "Audit the docs", "--agent", "lead")["created"][0]["id"]

    taken = answer(two, "task", "take", "--agent", "bob")
    refused = run(one, "task", "take", "--agent", "carol")

    assert taken["task"]["id"] == made
    assert refused[0] == 3
    assert (two / "work" / "assigned" / "bob" / f"{made}.yaml").exists()
    assert (one / "work" / "assigned" / "bob" / f"{made}.yaml").exists()
    assert not (one / "work" / "inbox" / f"{made}.yaml").exists()
    answer(two, "task", "done", made, "--summary", "fine", "--agent", "bob")
    answer(one, "task", "ls")
    assert not (one / "work" / "done" / f"{made}.yaml").exists()  # reading changes no files
    answer(one, "task", "new", "Other", "--agent", "lead")
    texts = [(clone / "work" / "done" / f"{made}.yaml").read_text() for clone in clones]
    assert texts[0] == texts[1]
    assert 'summary: "fine"' in texts[0]


def test_a_file_created_in_one_clone_can_be_taken_in_the_other(clones):
    one, two = clones
    (one / "work" / "inbox").mkdir(parents=True)
    (one / "work" / "inbox" / "audit.yaml").write_text("title: Audit\n")
    answer(one, "task", "ls")

    assert answer(two, "task", "take", "--agent", "bob")["task"]["id"] == "audit"


@pytest.mark.parametrize("clones", ["git"], indirect=True)  # only this engine has a cache
def test_a_board_with_an_unreachable_remote_is_still_shown_and_keeps_its_files(tmp_path, clones):
    one, _ = clones
    made = answer(one, "task", "new", "Audit")["created"][0]["id"]
    (tmp_path / "remote.git").rename(tmp_path / "away.git")
    (one / "work" / "inbox" / "by-hand.yaml").write_text("title: By hand\n")

    status, out, err = run(one, "task", "ls", "--json")

    assert (status, [task["id"] for task in json.loads(out)["tasks"]]) == (0, [made])
    assert "as_of" in json.loads(out)
    assert "task files were not read" in err
    assert run(one, "task", "take", "--agent", "bob")[0] == 69
    (tmp_path / "away.git").rename(tmp_path / "remote.git")
    assert {task["id"] for task in answer(one, "task", "ls")["tasks"]} == {made, "by-hand"}
