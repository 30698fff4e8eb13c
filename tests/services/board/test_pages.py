"""The generated pages on disk: appended to, rebuilt after someone changed them, and never garbled."""

from __future__ import annotations

import pytest
from tests.services.several_agents import Crew

from dibs.services.board.pages import Pages
from dibs.workdir.disk import Disk, Folders


@pytest.fixture
def crew(tmp_path):
    return Crew(archive=str(tmp_path / "ledger"), ledger_limit=100)


@pytest.fixture
def pages(crew, tmp_path):
    (tmp_path / "work").mkdir()
    return Pages(crew.ledger, Folders(str(tmp_path), "work", Disk()), str(tmp_path / "pages.json"))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "work" / "collaboration"


def tell(crew, *texts, kind="task_added", agent="bob", **details):
    for text in texts:
        crew.clock.advance(1.0)
        crew.store.apply(lambda rows: rows.emit(agent, "agent", kind, text, **details))  # noqa: B023


def hand_off(crew, task="y"):
    tell(
        crew, "", kind="handoff_created", task=task, artefacts=["a.md"], **{"from": "x", "to": "z"}
    )


def update(pages):
    entries, whole = pages.news()
    if entries or not whole:
        pages.update(entries, [], anew=not whole)


def lines(folder):
    text = (folder / "WORKFLOW_LOG.md").read_text()
    return [line.partition(" - ")[2] for line in text.splitlines() if line.startswith("**")]


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_new_entries_are_appended(crew, pages, folder):
    tell(crew, "one")
    update(pages)
    before = (folder / "WORKFLOW_LOG.md").read_bytes()
    tell(crew, "two", "three")

    update(pages)

    assert lines(folder) == ["one", "two", "three"]
    assert (folder / "WORKFLOW_LOG.md").read_bytes().startswith(before)


@pytest.mark.parametrize("harm", ["edit", "cut", "delete", "forget"])
def test_a_changed_page_is_rebuilt_from_the_whole_ledger(crew, pages, folder, tmp_path, harm):
    tell(crew, *map(str, range(300)))  # the first ones are already in the monthly files
    hand_off(crew)
    update(pages)
    whole = bytes_of(folder)
    page = folder / "WORKFLOW_LOG.md"
    if harm == "edit":
        page.write_text(page.read_text().replace("UTC** - 7\n", "UTC** - 7\n\n"))
    elif harm == "cut":
        page.write_bytes(page.read_bytes()[:5007])
    elif harm == "delete":
        page.unlink()
        (folder / "HANDOFFS.md").unlink()
    else:
        (tmp_path / "pages.json").unlink()

    update(pages)

    assert bytes_of(folder) == whole
    assert not (folder / "set-aside").exists()


def test_pages_catch_up_after_the_ledger_was_trimmed(crew, pages, folder):
    tell(crew, "first")
    update(pages)

    tell(crew, *map(str, range(300)))
    update(pages)

    assert lines(folder) == ["first", *map(str, range(300))]


def test_lines_from_another_clone_stay_in_order_of_time(crew, pages, folder):
    tell(crew, "one", "two")
    update(pages)
    page = folder / "WORKFLOW_LOG.md"
    page.write_text(page.read_text() + "**1970-01-01 00:00:00 UTC** - theirs\n")

    update(pages)

    assert lines(folder) == ["theirs", "one", "two"]
    assert not (folder / "set-aside").exists()


def test_free_text_is_saved_once(crew, pages, folder):
    tell(crew, "one")
    update(pages)
    page = folder / "WORKFLOW_LOG.md"
    clean = page.read_text()
    for _ in range(2):
        page.write_text(clean + "remember the milk\n")
        update(pages)

    assert page.read_text() == clean
    assert [path.read_text() for path in (folder / "set-aside").iterdir()] == [
        clean + "remember the milk\n"
    ]


def test_conflict_markers_are_removed_and_both_sides_stay(crew, pages, folder):
    tell(crew, "one")
    hand_off(crew)
    update(pages)
    page = folder / "HANDOFFS.md"
    theirs = page.read_text().split("\n## ")[1].replace("**Task ID:** y", "**Task ID:** other")
    page.write_text(f"{page.read_text()}<<<<<<< HEAD\n=======\n## {theirs}>>>>>>> side\n")

    update(pages)

    ids = [line for line in page.read_text().splitlines() if line.startswith("**Task ID:**")]
    assert ids == ["**Task ID:** y", "**Task ID:** other"]
    assert "<<<<" not in page.read_text()
    assert not (folder / "set-aside").exists()


def test_a_crash_before_saving_the_page_state_repeats_no_line(crew, pages, folder, monkeypatch):
    tell(crew, "one")
    update(pages)
    tell(crew, "two")

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dibs.services.board.pages.remember", crash)
        with pytest.raises(KeyboardInterrupt):
            update(pages)
    update(pages)

    assert lines(folder) == ["one", "two"]


def test_a_page_that_is_a_link_is_not_followed(crew, pages, folder, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder.mkdir()
    (folder / "WORKFLOW_LOG.md").symlink_to(victim)
    tell(crew, "one")

    update(pages)

    assert victim.read_text() == "mine"
    assert lines(folder) == ["one"]
