"""Bad input for the board, row by row of the catalog, through files and through commands.

Each invalid file is set aside with its code and line; it stays as it is, its task is unavailable, and the
board works without it.
"""

import errno
import os
from contextlib import contextmanager

import pytest

from dibs.workdir.disk import Disk

NAME = "2025-11-23T1430-any-a.yaml"


@pytest.fixture
def board(dibs, repo):
    """A board with one valid task that anyone can take."""
    made = dibs("task", "new", "A good task", "--slug", "good", "--json").json["created"][0]["id"]

    class Board:
        folder = repo / "work"
        good = made

        def put(self, content, name=NAME, place="inbox"):
            path = self.folder / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            return path

        def findings(self):
            answer = dibs("task", "validate", "--quiet", "--json")
            assert answer.status == (65 if answer.json["findings"] else 0)
            return answer.json["findings"]

        def take(self, agent="bob"):
            answer = dibs("task", "take", "--json", agent=agent)
            return answer.json["task"]["id"] if answer.status == 0 else None

    return Board()


DEEP = "a:\n" + "".join(" " * (n + 1) + "a:\n" for n in range(21)) + " " * 23 + "b: 1\n"

WRONG_FILES = [
    (67, "title: !!python/object/apply:os.system [echo]\n", "YAML_TAG", 1),
    (68, "title: &x a\nnote: *x\n", "YAML_ALIAS", 1),
    (68, "title: a\ncontext:\n  <<: {a: b}\n", "YAML_ALIAS", 3),
    (69, "title: a\npriority: low\ntitle: b\n", "YAML_DUPLICATE", 3),
    (70, "title: a\ncontext:\n\tnotes: b\n", "YAML_SYNTAX", 3),
    (70, b"title: a\r\n", "YAML_SYNTAX", 1),
    (70, b"\xef\xbb\xbftitle: a\n", "YAML_SYNTAX", 1),
    (70, b"title: a\nnote: \xe9\n", "YAML_SYNTAX", 2),
    (70, b"title: a\x00b\n", "YAML_SYNTAX", 1),
    (71, "title: a\n---\ntitle: b\n", "YAML_SHAPE", 2),
    (71, "", "YAML_SHAPE", 1),
    (73, "title: a\nnote: |\n" + "  x\n" * (64 * 1024 + 1), "LIMIT", None),
    (73, DEEP, "LIMIT", None),
    (74, "id: 2025-11-23T1430-any-b\ntitle: a\n", "TASK_MISMATCH", 1),
    (74, "title: a\nstatus: in_progress\nagent: bob\n", "TASK_MISMATCH", None),
    (77, "title: a\nstatus: nonsense\n", "TASK_TRANSITION", 2),
    (78, "title: a\ncontext:\n  dependencies: [2025-11-23T1430-any-a]\n", "TASK_DEPENDENCY", None),
    (79, "title: a\nartefacts: [../../etc/passwd]\n", "PATH_ESCAPE", 2),
    (80, 'title: a\nagent: ".."\n', "AGENT_ID", 2),
    (81, 'title: a\ncreated_at: "99999-01-01T00:00:00Z"\n', "TASK_TIME", 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "content", "code", "line"), WRONG_FILES, ids=lambda v: v if isinstance(v, int) else ""
)
def test_an_invalid_file_is_set_aside_with_its_code_and_line(board, dibs, row, content, code, line):
    path = board.put(content)
    before = path.read_bytes()

    findings = board.findings()

    assert {(f["file"], f["code"]) for f in findings} == {(f"work/inbox/{NAME}", code)}
    if line is not None:
        assert findings[0]["line"] == line
    assert path.read_bytes() == before
    assert NAME.removesuffix(".yaml") not in {
        t["id"] for t in dibs("task", "ls", "--ready", "--json").json["tasks"]
    }
    assert board.take() == board.good
    assert board.take("carol") is None


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("done", "title: a\nstatus: new\n"),
        ("assigned/bob", "title: a\nstatus: assigned\nagent: carol\n"),
        ("inbox", "title: a\nstatus: in_progress\nagent: bob\n"),
    ],
)
def test_row_74_status_and_folder_must_agree(board, place, content):
    board.put(content, place=place)

    (finding,) = board.findings()

    assert finding["code"] == "TASK_MISMATCH"
    assert finding["file"] == f"work/{place}/{NAME}"


def test_row_76_invalid_names_on_the_command_line_are_refused_in_one_line(board, dibs):
    for id_ in ("../x", "a;rm", "con", "a" * 200, "a\nb", ""):
        for verb in (["show"], ["cancel", "--reason", "x"], ["start"], ["graph"]):
            answer = dibs("task", verb[0], id_, *verb[1:])
            assert answer.status == 65, (verb, id_)
            assert answer.err.count("\n") == 1
        for word in ("done", "release"):  # names in the lock-file queue allow more
            answer = dibs("task", word, id_)
            assert answer.status in {6, 65}
            assert answer.err.count("\n") == 1


def test_row_78_a_dependency_cycle_made_by_hand_is_reported(board):
    board.put("title: a\ndependencies: [b]\n", "a.yaml")
    board.put("title: b\ndependencies: [a]\n", "b.yaml")

    findings = [f for f in board.findings() if f["code"] == "TASK_DEPENDENCY"]

    assert any("a -> b -> a" in finding["message"] for finding in findings)
    assert board.take() == board.good
    assert board.take("carol") is None


def test_row_79_every_verb_refuses_artefacts_outside_the_repository(board, dibs):
    dibs("task", "take", agent="bob")
    for words in (
        ["new", "More", "--artefact", "../x"],
        ["new", "More", "--artefact", "/etc/passwd"],
        ["done", board.good, "--artefact", "../x"],
        ["done", board.good, "--next", "carol", "--next-artefact", "../../x"],
    ):
        answer = dibs("task", *words, "--json", agent="bob")
        assert answer.status == 65, words
        assert answer.json["error"]["code"].startswith("PATH"), words


def test_row_80_a_path_is_not_an_agent(board, dibs):
    dibs("task", "take", agent="bob")
    for words in (
        ["new", "More", "--for", ".."],
        ["reassign", board.good, "--to", "../x"],
        ["done", board.good, "--next", "../../x"],
    ):
        answer = dibs("task", *words, "--json", agent="bob")
        assert answer.status == 65, words
        assert answer.json["error"]["code"] == "AGENT_ID", words


def test_the_most_similar_tasks_are_shown_and_the_rest_counted(dibs, repo):
    (repo / "work/inbox").mkdir(parents=True, exist_ok=True)
    for n in range(24):
        (repo / f"work/inbox/t{n}.yaml").write_text("title: Audit the docs\n")
    dibs("task", "new", "Seed")

    told = dibs("task", "new", "Audit the docs", "--dry-run").out.splitlines()

    alike = [line for line in told if line.startswith("similar ")]
    assert len(alike) == 21
    assert "100% word overlap" in alike[0]
    assert alike[-1] == "similar 4 more; --json lists all"


@pytest.mark.parametrize("name", ["2025-11-23T1430-any-a.YAML", "b.Yml"])
def test_an_ending_in_upper_case_is_reported_not_ignored(board, name):
    path = board.put("title: a\n", name)

    [finding] = board.findings()

    assert (finding["code"], os.path.basename(finding["file"])) == ("TASK_NAME", name)
    assert name[:-4] + name[-4:].lower() in finding["message"]
    assert board.take("dave") == board.good
    assert name in (board.folder / "collaboration" / "SET_ASIDE.md").read_text()
    path.rename(path.with_name(name[:-4] + name[-4:].lower()))
    assert board.findings() == []
    assert board.take("carol") == name.rpartition(".")[0]


def test_another_file_among_the_tasks_gets_a_note(board, dibs):
    for name in ("fix.txt", "README.md", "a.yaml~", ".gitkeep", "#a.yaml#"):
        board.put("title: a\n", name)

    answer = dibs("task", "validate")

    assert answer.status == 0
    assert answer.out.splitlines() == [
        "work/inbox/fix.txt:1: ignored: task files end in .yaml (note)",
        "1 file: no errors",
    ]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("title: x-1\ndepends_on: [x-1]\n", 2),
        ("title: a\ncontext:\n  dependencies:\n    - x-10\n    - 'x-1'\n", 5),
        ('title: a\n"blocked_by":\n- x-1 # soon\n', 3),
    ],
)
def test_an_unknown_dependency_is_reported_with_its_line(board, content, line):
    board.put(content)

    found = {f["message"]: f["line"] for f in board.findings()}

    assert found["unknown task x-1"] == line


@pytest.fixture
def full_disk(monkeypatch):
    """A context in which no board file can be written."""

    @contextmanager
    def block():
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(Disk, "rename", full)
            yield

    return block


@pytest.mark.parametrize("verb", ["take", "start"])
def test_taking_a_task_whose_file_cannot_be_written_reports_its_name_and_token(
    board, dibs, full_disk, verb
):
    named = [board.good] if verb == "start" else []
    with full_disk():
        answer = dibs("task", verb, *named, "--json", agent="bob")

    assert answer.status == 69
    error = answer.json["error"]
    assert error["code"] == "STORAGE_FULL"
    token = dibs("task", "show", board.good, "--json").json["task"]["token"]
    assert token > 0
    assert error["message"].startswith(f"you hold task '{board.good}' (token {token}), but ")
    assert dibs("task", "done", board.good, "--token", str(token), agent="bob").status == 0


def test_a_command_that_cannot_update_files_first_says_that_nothing_changed(board, dibs, full_disk):
    with full_disk():
        dibs("task", "take", agent="bob")
        answer = dibs("task", "new", "Another", "--json")

    assert answer.status == 69
    assert "nothing was changed" in answer.json["error"]["hint"]
    assert [task["id"] for task in dibs("task", "ls", "--json").json["tasks"]] == [board.good]
