"""``dibs task validate`` reports, and ``dibs doctor`` fixes, a nonstandard board without loss."""

import errno

import pytest


@pytest.fixture
def inbox(repo):
    folder = repo / "work" / "inbox"
    folder.mkdir(parents=True)
    return folder


def test_validate_prints_lines_that_editors_can_open(dibs, inbox):
    (inbox / "x.yaml").write_text("title: a\npriority: soon\n")

    answer = dibs("task", "validate")

    assert answer.status == 65
    assert answer.out.splitlines()[0].startswith("work/inbox/x.yaml:2: priority: ")
    assert dibs("task", "validate", "work/inbox/x.yaml").out == answer.out


def test_validate_shows_paths_as_typed(dibs, inbox, monkeypatch):
    (inbox / "x.yaml").write_text("title: a\npriority: soon\n")
    monkeypatch.chdir(inbox)

    assert dibs("task", "validate", "x.yaml").out.startswith("x.yaml:2: ")
    assert dibs("task", "validate").out.startswith("x.yaml:2: ")


def test_doctor_finds_problems_and_fix_repairs_them(dibs, repo):
    id_ = dibs("task", "new", "Audit", "--json").json["created"][0]["id"]
    file = repo / "work" / "inbox" / f"{id_}.yaml"
    text = file.read_text()
    file.unlink()

    sick = dibs("doctor")
    mended = dibs("doctor", "--fix", "--json")

    assert sick.status == 65
    assert f"{id_}" in "".join(sick.out.split())
    assert sick.out.splitlines()[-1].startswith("1 problem")
    assert mended.status == 0
    assert mended.json["well"]
    assert any(id_ in line for line in mended.json["done"])
    assert file.read_text() == text


def test_a_plain_name_is_a_note_and_an_error_if_strict(dibs, inbox):
    (inbox / "audit-docs.yaml").write_text(
        "agent: curator\ntitle: Audit the docs\ncreated_at: 2025-11-23T14:30:00Z\n"
    )
    rule = "YYYY-MM-DDTHHMM-<agent>-<slug>.yaml"
    said = f"does not follow {rule}; name it 2025-11-23T1430-curator-audit-the-docs.yaml"

    plain, strict = dibs("task", "validate"), dibs("task", "validate", "--strict")
    one = dibs("task", "validate", "--strict", "work/inbox/audit-docs.yaml")

    assert (plain.status, strict.status, one.status) == (0, 65, 65)
    assert f"{said} (note)" in plain.out
    assert all(f"{said}\n" in answer.out for answer in (strict, one))
    assert dibs("task", "take", agent="curator").status == 0
    assert "1 not named" in dibs("doctor").out


def test_an_id_that_differs_from_the_file_name_is_an_error_with_its_line(dibs, inbox):
    (inbox / "2025-11-23T1430-curator-audit.yaml").write_text(
        "title: x\nid: 2025-11-23T1430-curator-other\n"
    )

    answer = dibs("task", "validate")

    assert answer.status == 65
    assert "audit.yaml:2: id: " in answer.out
    assert "rename the file, or change the id" in answer.out


def test_a_board_that_cannot_be_read_is_not_reported_as_valid(dibs, inbox, monkeypatch):
    (inbox / "2025-11-23T1430-curator-audit.yaml").write_text("title: x\nagent: curator\n")

    def closed(*words, **options):
        raise PermissionError(errno.EACCES, "Permission denied", "work")

    monkeypatch.setattr("dibs.workdir.disk.Folders.hold", closed)
    answer = dibs("task", "validate")

    assert answer.status == 69
    assert "cannot check the board: cannot access 'work' of the board" in answer.err
    assert "no errors" not in answer.out


def test_validate_notes_a_move_that_the_board_accepts(dibs, inbox, repo):
    path = inbox / "2025-11-23T1430-curator-audit.yaml"
    path.write_text("title: x\nagent: curator\nstatus: new\n")
    dibs("task", "ls")
    (repo / "work/assigned/bob").mkdir(parents=True, exist_ok=True)
    path.rename(repo / "work/assigned/bob" / path.name)

    answer = dibs("task", "validate")

    assert (answer.status, "belongs in" in answer.out) == (0, True)
    (task,) = dibs("task", "ls", "--json").json["tasks"]
    assert (task["agent"], task["state"]) == ("bob", "assigned")
