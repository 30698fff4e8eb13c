"""Text from agents and files is data: stored unchanged, shown escaped, and laid out to fit the terminal."""

import pytest

from dibs.cli.commands import task

HOSTILE = {
    "ANSI": "\x1b[2J\x1b]0;owned\x07red",
    "RTL": "invoice\u202egpj.exe",
    "script": "<script>alert(1)</script>",
    "long": "x" * 10_000,
    "quotes": "\"]; rm -rf ~ #'",
}
COMMANDS = ["task", "doctor", "orchestrate", *(f"task {verb}" for verb in task.VERBS)]
VERBS = (
    ["ls"],
    ["show", "ID"],
    ["graph"],
    ["graph", "--format", "mermaid"],
)


@pytest.mark.parametrize("title", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_title_is_shown_escaped(dibs, repo, title):
    from json import dumps

    inbox = repo / "work" / "inbox"
    inbox.mkdir(parents=True)
    (inbox / "hostile.yaml").write_text(f"title: {dumps(title)}\n")

    for words in VERBS:
        answer = dibs("task", *[w.replace("ID", "hostile") for w in words])
        assert answer.status == 0
        assert "hostile" in answer.out
        assert not set(answer.out) & {"\x1b", "\x07", "\u202e"}, words
        assert words[0] == "show" or len(answer.out) < 5_000, words
    assert dibs("task", "show", "hostile", "--json").json["task"]["title"] == title
    took = dibs("task", "take", agent="bob")
    assert not set(took.out) & {"\x1b", "\x07", "\u202e"}


def test_a_list_fits_80_columns(dibs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    dibs("task", "new", "Look into every broken link of the documentation, page by page",
         "--for", "curator", "--priority", "critical", "--slug", "links")  # fmt: skip
    dibs("task", "take", "--role", "curator", agent="bob")

    for words in (["ls"], ["graph"]):
        assert max(map(len, dibs("task", *words).out.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_every_page_of_help_fits_80_columns(dibs, command):
    page = dibs(*command.split(), "--help").out

    assert page.startswith(f"usage: dibs {command} ")
    assert "None" not in page
    assert max(map(len, page.splitlines())) < 80


def test_a_file_without_a_final_newline_is_reported_with_the_fix(dibs, repo):
    dibs("task", "new", "Seed")
    file = repo / "work/inbox/half.yaml"
    file.write_text("title: x\npriority: high")

    wrong = dibs("task", "validate")

    assert wrong.status == 65
    assert "work/inbox/half.yaml:2: the file does not end with a newline" in wrong.out
    file.write_text("title: x\npriority: high\n")
    assert dibs("task", "validate").status == 0


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lists_and_graphs_fit_the_terminal(dibs, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    first = dibs("task", "new", "Audit every page of the documentation for broken links",
                 "--slug", "audit", "--json").json["created"][0]["id"]  # fmt: skip
    dibs("task", "new", "Publish the documentation", "--slug", "publish", "--needs", first)
    dibs("task", "take", agent="bob")

    for words in (["ls"], ["graph"], ["take"]):
        lines = dibs("task", *words).out.splitlines()
        assert max(len(line) for line in lines if "dibs task" not in line) <= columns


def test_only_agents_see_the_token_of_a_task(dibs):
    dibs("task", "new", "Audit")
    dibs("task", "new", "Write")

    assert "(token " in dibs("task", "take", agent="bob").out
    assert "(expires in 5m)" in dibs("task", "take").out.splitlines()[0]
