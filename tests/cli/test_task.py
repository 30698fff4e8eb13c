"""``dibs task`` on the plain queue: subcommands, exit statuses, and output."""

import pytest


@pytest.fixture
def put(repo, dibs):
    """Add files of these names to the queue."""

    def add(*names):
        for name in names:
            (repo / f"{name}.yml").write_text(f"title: {name}\nsteps: [1, 2]\n")
        assert dibs("task", "add", *[f"{name}.yml" for name in names], agent="lead").status == 0

    return add


def test_take_prints_the_task_and_its_file(dibs, put):
    put("b", "a")

    answer = dibs("task", "take", agent="bob")

    assert answer.status == 0
    assert answer.out.splitlines()[0].startswith("took a (token ")
    assert answer.out.splitlines()[1:] == ["  title: a", "  steps: [1, 2]"]


def test_take_as_json_has_the_task_the_token_and_the_text(dibs, put):
    put("a")

    answer = dibs("task", "take", "--json", agent="bob")

    assert answer.json["outcome"] == "granted"
    assert answer.json["token"] == answer.json["claims"][0]["token"]
    assert answer.json["task"]["id"] == "a"
    assert answer.json["task"]["holder"] == "bob"
    assert answer.json["task"]["text"] == "title: a\nsteps: [1, 2]\n"


def test_take_without_an_available_task_shows_owners_and_exits_with_3(dibs, put):
    put("a")
    dibs("task", "take", "--reason", "mine", agent="bob")

    answer = dibs("task", "take", agent="carol")

    assert answer.status == 3
    assert answer.out.startswith("no task available\n")
    assert "bob" in answer.out
    assert "5m" in answer.out
    assert "mine" in answer.out
    told = dibs("task", "take", "--json", "--wait", "0.1s", agent="carol")
    assert told.status == 3
    assert told.json["outcome"] == "denied"
    assert told.json["why"] == "timeout"
    assert told.json["tasks"][0]["holder"] == "bob"
    assert 0 < told.json["tasks"][0]["expires_in"] <= 300


def test_take_on_an_empty_queue_exits_with_6(dibs):
    answer = dibs("task", "take", agent="bob")

    assert answer.status == 6
    assert "no tasks to take" in answer.err
    assert dibs("task", "take", "--json", agent="bob").json["error"]["code"] == "QUEUE_EMPTY"
    assert dibs("status", "--json").json["claims"] == []


def test_done_finishes_a_task_for_good(dibs, put):
    put("a")
    dibs("task", "take", agent="bob")

    answer = dibs("task", "done", "a", "--note", "easy", agent="bob")

    assert (answer.status, answer.out) == (0, "done a\n")
    assert dibs("task", "take", agent="bob").status == 6
    entries = dibs("log", "--json", "--kind", "task_completed").json
    assert entries[0]["details"] == {"task": "a", "note": "easy"}
    assert dibs("task", "add", "a.yml").status == 65


def test_done_by_another_agent_exits_with_4_and_of_an_unclaimed_task_with_6(dibs, put):
    put("a", "b")
    dibs("task", "take", agent="bob")

    assert dibs("task", "done", "a", agent="carol").status == 4
    assert dibs("task", "done", "b", agent="carol").status == 6
    assert dibs("task", "release", "a", agent="carol").status == 4
    assert dibs("task", "done", "../x", agent="carol").status == 65


def test_a_released_task_can_be_taken(dibs, put):
    put("a")
    dibs("task", "take", agent="bob")

    assert dibs("task", "release", "a", agent="bob").out == "released a\n"
    assert dibs("task", "ls", "--json").json["tasks"][0]["state"] == "free"


def test_ls_shows_the_queue_and_all_adds_done_tasks(dibs, put):
    assert dibs("task", "ls").out == 'no tasks: create one with `dibs task new "TITLE"`\n'
    put("a", "b", "c")
    dibs("task", "take", agent="bob")
    dibs("task", "done", "a", agent="bob")
    dibs("task", "take", agent="bob")

    plain = dibs("task", "ls").out
    whole = dibs("task", "ls", "--all", "--json").json

    assert plain.splitlines()[-1] == "2 unfinished tasks; 1 done"
    assert [line.split()[:2] for line in plain.splitlines()[1:] if line[0] in "bc"] == [
        ["b", "held"],
        ["c", "ready"],
    ]
    assert [(t["id"], t["state"]) for t in whole["tasks"]] == [
        ("b", "held"), ("c", "free"), ("a", "done"),
    ]  # fmt: skip
    assert whole["done"] == 1


def test_a_missing_or_invalid_file_is_refused_in_one_line(dibs, repo):
    (repo / "a.txt").write_text("x")
    (repo / "big.yml").write_text("x" * (256 * 1024 + 1))
    (repo / "sub").mkdir()
    (repo / "sub" / "big.yml").write_text("x")

    for files in (["none.yml"], ["a.txt"], ["big.yml"], ["sub"], ["sub/big.yml", "big.yml"]):
        answer = dibs("task", "add", *files)
        assert answer.status == 65, files
        assert answer.err.count("\n") == 1


def test_text_of_a_task_is_escaped_on_the_terminal(dibs, repo):
    (repo / "a.yml").write_text("\x1b[2Jboo\n")
    dibs("task", "add", "a.yml")

    assert "\x1b" not in dibs("task", "take", agent="bob").out
