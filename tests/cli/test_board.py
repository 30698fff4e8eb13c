"""``dibs task`` on the board: a task from creation to done, using only commands."""

from pathlib import Path

import pytest


@pytest.fixture
def make(dibs):
    """Create a task and return its id."""

    def new(title, *words, agent="lead"):
        answer = dibs("task", "new", title, *words, "--json", agent=agent)
        assert answer.status == 0, answer
        return answer.json["created"][0]["id"]

    return new


def files(repo):
    return sorted(str(p.relative_to(repo / "work")) for p in (repo / "work").rglob("*-*.yaml"))


def states(dibs, *words):
    return {t["id"]: t["state"] for t in dibs("task", "ls", "--json", *words).json["tasks"]}


def test_new_creates_a_file_in_the_inbox_named_after_time_agent_and_title(dibs, repo):
    answer = dibs(
        "task", "new", "Audit the docs!", "--for", "curator", "--priority", "high",
        "--artefact", "docs/", "--note", "be brief", "--mode", "/analysis-mode", agent="lead",
    )  # fmt: skip

    assert answer.status == 0
    (file,) = files(repo)
    assert file.startswith("inbox/")
    assert file.endswith("-curator-audit-the-docs.yaml")
    assert answer.out.splitlines()[0] == f"created {Path(file).stem}"
    assert answer.out.splitlines()[1].strip() == f"work/{file}"
    text = (repo / "work" / file).read_text()
    for line in ("agent: curator", "status: new", "priority: high", 'created_by: "lead"'):
        assert line in text


def test_a_task_that_is_taken_and_finished_is_in_done_with_its_result(dibs, repo, make):
    id_ = make("Audit", "--artefact", "docs/")

    taken = dibs("task", "take", agent="bob")
    done = dibs("task", "done", id_, "--summary", "12 fixed", "--artefact", "docs/a.md",
                "--tokens-in", "10", "--tokens-out", "5", agent="bob")  # fmt: skip

    assert taken.status == 0
    assert taken.out.splitlines()[0].startswith(f"took {id_} (token ")
    assert 'title: "Audit"' in taken.out
    assert done.status == 0
    assert done.out.splitlines()[0] == f"done {id_}"
    assert files(repo) == [f"done/{id_}.yaml"]
    text = (repo / "work" / "done" / f"{id_}.yaml").read_text()
    assert 'summary: "12 fixed"' in text
    assert '- "docs/a.md"' in text
    assert "total: 15" in text
    shown = dibs("task", "show", id_, "--json").json["task"]
    assert shown["state"] == "done"
    assert shown["doer"] == "bob"


def test_take_as_json_has_token_task_and_text(dibs, make):
    id_ = make("Audit")

    answer = dibs("task", "take", "--json", agent="bob").json

    assert answer["outcome"] == "granted"
    assert answer["token"] == answer["claims"][0]["token"] == answer["task"]["token"]
    assert answer["task"]["id"] == id_
    assert answer["task"]["holder"] == "bob"
    assert "status: in_progress" in answer["task"]["text"]


def test_failed_tasks_wait_for_a_retry(dibs, make):
    id_ = make("Audit")
    dibs("task", "take", agent="bob")

    failed = dibs("task", "fail", id_, "--message", "no such page", agent="bob")

    assert failed.status == 0
    assert states(dibs) == {id_: "error"}
    assert "no such page" in dibs("task", "ls").out
    assert dibs("task", "take", agent="bob").status == 6
    assert dibs("task", "retry", id_).status == 0
    assert dibs("task", "take", "--json", agent="bob").json["task"]["attempt"] == 2


def test_humans_block_reopen_cancel_and_reassign(dibs, repo, make):
    id_ = make("Audit")

    assert dibs("task", "block", id_, "--reason", "not yet").status == 0
    assert "not yet" in dibs("task", "ls").out
    assert dibs("task", "reopen", id_).status == 0
    assert dibs("task", "reassign", id_, "--to", "carol").status == 0
    assert dibs("task", "take", agent="bob").status == 3
    assert dibs("task", "reassign", id_, "--to", "any").status == 0
    assert dibs("task", "cancel", id_, "--reason", "no need").status == 0
    assert files(repo) == [f"done/{id_}.yaml"]
    assert states(dibs) == {}
    assert states(dibs, "--all") == {id_: "cancelled"}
    assert dibs("task", "block", id_, "--reason", "x").status == 65


def test_a_handoff_is_in_the_result(dibs, repo, make):
    id_ = make("Write")
    dibs("task", "take", agent="architect")

    dibs("task", "done", id_, "--summary", "s", "--next", "writer-editor", "--next-title",
         "Polish", "--next-artefact", "docs/a.md", "--next-note", "be clear",
         agent="architect")  # fmt: skip

    text = (repo / "work" / "done" / f"{id_}.yaml").read_text()
    for line in ('next_agent: "writer-editor"', 'next_task_title: "Polish"', '- "docs/a.md"'):
        assert line in text
    assert dibs("task", "done", id_, "--next-title", "x").status == 64


def test_show_has_path_owner_and_history(dibs, make):
    id_ = make("Audit")
    dibs("task", "take", agent="bob")

    shown = dibs("task", "show", id_)

    assert shown.status == 0
    assert f"work/assigned/bob/{id_}.yaml" in shown.out
    assert "  owner       bob (expires in " in shown.out
    told = dibs("task", "show", id_, "--json").json
    assert [entry["details"]["task"] for entry in told["log"]] == [id_] * len(told["log"])
    assert len(told["log"]) >= 2
    assert dibs("task", "show", "nothing-here").status == 6


def test_the_queue_folder_of_a_branch_shared_with_shell_agents_is_left_to_them(
    dibs, repo, tmp_path, monkeypatch
):
    from subprocess import run

    run(["git", "init", "-q", "--bare", tmp_path / "remote.git"], check=True)
    run(["git", "remote", "add", "origin", tmp_path / "remote.git"], check=True)
    monkeypatch.setenv("DIBS_ENGINE", "git:origin")
    (repo / "dibs.toml").write_text('[git]\nbranch = "main"\n')
    (repo / "tasks" / "pending").mkdir(parents=True)
    (repo / "tasks" / "pending" / "theirs.yml").write_text("title: Theirs\n")

    dibs("task", "new", "Ours", agent="lead")

    assert (repo / "tasks" / "pending" / "theirs.yml").exists()
    assert "theirs" not in states(dibs)


def test_handing_off_work_reports_similar_tasks(dibs):
    alike = dibs("task", "new", "Polish the architecture guide", "--json").json["created"][0]["id"]
    dibs("task", "new", "Write the architecture guide", "--for", "bob")
    id_ = dibs("task", "take", "--agent", "bob", "--json").json["task"]["id"]

    words = ("--next", "carol", "--next-title", "Polish the architecture guide")
    told = dibs("task", "done", id_, "--agent", "bob", *words)
    moved = dibs("task", "reassign", alike, "--to", "bob", "--json")

    assert told.out.splitlines()[0].startswith(f"similar {alike}")
    made = dibs("task", "show", id_, "--json").json["task"]["follow_up"]
    assert [one["other"] for one in moved.json["similar"]] == [made]
