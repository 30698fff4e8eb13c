"""What agents and files say is data: it is stored as it is, and shown so that no terminal obeys it."""

import pytest

HOSTILE = {
    "ANSI": "\x1b[2J\x1b]0;owned\x07red",
    "RTL": "invoice\u202egpj.exe",
    "script": "<script>alert(1)</script>",
    "long": "x" * 10_000,
    "quotes": "\"]; rm -rf ~ #'",
}
VERBS = (
    ["ls"],
    ["show", "ID"],
    ["graph"],
    ["graph", "--format", "mermaid"],
    ["graph", "--format", "dot"],
)


@pytest.mark.parametrize("title", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_title_of_a_file_is_shown_escaped(dibs, repo, title):
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


def test_a_list_fits_a_page_of_eighty_columns(dibs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    dibs("task", "new", "Look into every broken link of the documentation, page by page",
         "--for", "curator", "--priority", "critical", "--slug", "links")  # fmt: skip
    dibs("task", "take", "--role", "curator", agent="bob")

    for words in (["ls"], ["graph"]):
        assert max(map(len, dibs("task", *words).out.splitlines())) <= 80
