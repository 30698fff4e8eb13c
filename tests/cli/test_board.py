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


def test_a_second_task_with_the_same_minute_and_title_gets_another_id(make):
    first, second = make("Audit", "--slug", "same"), make("Other words", "--slug", "same")

    assert first != second


def test_a_dry_run_creates_nothing(dibs, repo):
    answer = dibs("task", "new", "Audit", "--dry-run")

    assert answer.status == 0
    assert answer.out.startswith("would create ")
    assert states(dibs) == {}
    assert not (repo / "work").exists()


def test_a_similar_task_is_reported_and_strict_creates_nothing(dibs, make):
    other = make("Audit the broken links of the docs")

    told = dibs("task", "new", "Audit broken links in docs")
    strict = dibs("task", "new", "Audit all broken links of docs", "--strict")

    assert told.status == 0
    assert told.out.splitlines()[0].startswith(f"similar {other}")
    assert told.out.splitlines()[1].startswith("created ")
    assert strict.status == 65
    assert len(states(dibs)) == 2


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


def test_each_task_goes_to_one_agent_and_then_none_is_available(dibs, make):
    id_ = make("Audit")
    dibs("task", "take", agent="bob")

    answer = dibs("task", "take", agent="carol")

    assert answer.status == 3
    assert answer.out.startswith("no task available\n")
    assert "bob" in answer.out
    denied = dibs("task", "take", "--json", agent="carol").json
    assert (denied["outcome"], denied["tasks"][0]["id"]) == ("denied", id_)
    assert dibs("task", "start", id_, agent="carol").status == 3
    assert dibs("task", "done", id_, agent="carol").status == 4


def test_a_task_for_a_role_goes_to_an_agent_with_the_role(dibs, make):
    id_ = make("Audit", "--for", "curator")

    assert dibs("task", "take", agent="bob").status != 0
    assert (
        dibs("task", "take", "--role", "curator", "--json", agent="bob").json["task"]["id"] == id_
    )


def test_the_most_urgent_task_comes_first(dibs, make):
    make("Later")
    urgent = make("Now", "--priority", "critical")

    assert dibs("task", "take", "--json", agent="bob").json["task"]["id"] == urgent


def test_a_task_waits_for_its_dependencies_and_says_so(dibs, make):
    first = make("Audit")
    second = make("Polish", "--needs", first)

    listed = dibs("task", "ls")
    assert states(dibs) == {first: "new", second: "blocked"}
    assert f"waits for {first}" in " ".join(listed.out.split())
    assert list(states(dibs, "--blocked")) == [second]
    assert list(states(dibs, "--ready")) == [first]
    assert first in dibs("task", "graph").out
    assert dibs("task", "graph", "--format", "mermaid").out.startswith("flowchart")
    assert dibs("task", "graph", "--json").json["critical_path"] == [first, second]
    dibs("task", "take", agent="bob")
    dibs("task", "done", first, agent="bob")
    assert states(dibs) == {second: "new"}


def test_a_task_is_claimed_with_all_its_artefacts_or_not_at_all(dibs, make):
    make("Audit", "--artefact", "docs/")
    other = make("Fix", "--artefact", "src/", "--priority", "low")
    dibs("claim", "docs/a.md", agent="carol")

    taken = dibs("task", "take", "--claim", "--json", agent="bob").json

    assert taken["task"]["id"] == other
    assert [c["pattern"] for c in taken["claims"]] == [f"task:{other}", "src/"]


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


def test_a_released_task_is_available_again(dibs, make):
    id_ = make("Audit")
    dibs("task", "take", agent="bob")

    assert dibs("task", "release", id_, agent="bob").out.splitlines()[0] == f"released {id_}"
    assert states(dibs) == {id_: "new"}


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


def test_an_unknown_task_is_not_found(dibs, make):
    make("Audit")

    for verb in ("done", "release"):
        answer = dibs("task", verb, "nothing", "--json", agent="bob")
        assert (answer.status, answer.json["error"]["code"]) == (6, "NO_TASK")


def test_reading_a_repository_without_a_board_creates_none(dibs, repo):
    for words in (["ls"], ["take"], ["graph"], ["validate"], ["show", "x"], ["done", "x"]):
        dibs("task", *words, agent="bob")
    dibs("doctor")

    assert [p.name for p in repo.iterdir()] == [".git"]


def test_task_ids_are_completed(dibs, make):
    id_ = make("Audit")

    assert dibs("completion", "--offer", "--", "task", "show", "").out.splitlines() == [id_]


def test_a_consistent_board_is_healthy(dibs, make):
    make("Audit")

    answer = dibs("doctor")
    told = dibs("doctor", "--json", "--fix")

    assert answer.status == 0
    assert told.json["well"]
    assert not [line for line in told.json["done"] if "work/" in line]


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


def test_a_task_can_be_finished_with_only_an_editor_and_mv(dibs, repo, make):
    id_ = make("Audit", "--for", "curator")
    dibs("orchestrate")
    path = repo / "work" / "assigned" / "curator" / f"{id_}.yaml"
    begun = path.read_text().replace("status: assigned", "status: in_progress")
    path.write_text(f'{begun}started_at: "2026-11-15T10:00:00Z"\n')
    assert states(dibs) == {id_: "in_progress"}

    text = path.read_text().replace("status: in_progress", "status: done")
    result = 'result:\n  summary: "fine"\n  completed_at: "2026-11-15T10:10:00Z"\n'
    path.write_text(f"{text}{result}")
    path.rename(repo / "work" / "done" / path.name)

    assert states(dibs, "--all") == {id_: "done"}
    assert dibs("task", "validate", "--quiet").status == 0


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
