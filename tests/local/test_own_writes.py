"""The record of how an agent's own calls left files."""

import os

import pytest

from dibs.local.own_writes import is_as_left, note_written, read_written, replace_written, stat_of


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / "marks" / "alice~own")


def note(tmp_path, place, path, text, now=1.0):
    (tmp_path / path).write_text(text)
    note_written(place, str(tmp_path), [path], now)


def test_the_newest_record_of_each_path_counts(tmp_path, place):
    note(tmp_path, place, "a", "one")
    note(tmp_path, place, "b\n'ü", "two")
    note(tmp_path, place, "a", "three", 2.0)

    found = read_written(place)

    assert list(found) == ["b\n'ü", "a"]
    assert found["a"][:2] == [stat_of(str(tmp_path), "a"), 2.0]


def test_a_record_that_was_cut_short_hides_no_other(tmp_path, place):
    note(tmp_path, place, "a", "one")
    with open(place, "a", encoding="utf-8") as file:
        file.write('\n["b", [1, 2')
    note(tmp_path, place, "c", "two")

    assert list(read_written(place)) == ["a", "c"]


def test_a_large_record_keeps_the_newest_paths(tmp_path, place):
    note_written(place, str(tmp_path), [f"{number:0200}" for number in range(2000)], 1.0)

    found = read_written(place)

    assert len(found) == 1000
    assert f"{1999:0200}" in found
    replace_written(place, {"a": [None, 1.0]})
    assert read_written(place) == {"a": [None, 1.0]}


@pytest.mark.parametrize(
    ("text", "same"),
    [("x = 'a'\n", True), ('x = "a",\n', True), ("x  =\n'a'", True), ("x = 'b'\n", False), ("", False)],
)  # fmt: skip
def test_only_new_content_is_someone_elses(tmp_path, place, text, same):
    note(tmp_path, place, "a", "x = 'a'\n")

    (tmp_path / "a").write_text(text)

    assert is_as_left(str(tmp_path), "a", read_written(place)["a"]) == same


def test_formatting_counts_as_the_agents_only_right_after_its_call(tmp_path, place):
    note(tmp_path, place, "a", "x = 'a'\n")
    later = (tmp_path / "a").stat().st_mtime + 60
    (tmp_path / "a").write_text('x = "a"\n')
    os.utime(tmp_path / "a", (later, later))

    assert not is_as_left(str(tmp_path), "a", read_written(place)["a"])


@pytest.mark.parametrize("change", ["delete", "mode", "link"])
def test_another_kind_of_file_is_someone_elses(tmp_path, place, change):
    note(tmp_path, place, "a", "text")
    if change == "mode":
        (tmp_path / "a").chmod(0o755)
    else:
        (tmp_path / "a").unlink()
        if change == "link":
            (tmp_path / "a").symlink_to("b")

    assert not is_as_left(str(tmp_path), "a", read_written(place)["a"])
