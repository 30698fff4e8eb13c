"""All paths of a patch are found, whatever the file contents say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dibs.core.toolcalls.patches import is_patch, touched

SIGNS = {"write": "+", "delete": "-"}


def paths(*lines):
    text = "\n".join(("*** Begin Patch", *lines, "*** End Patch"))
    assert is_patch(text)
    return [SIGNS[touch.how] + touch.path for touch in touched(text)]


def test_every_file_of_a_patch_is_found():
    found = paths("*** Add File: a", "+x", "*** Update File: b", "@@", "-x", "*** Delete File: c")

    assert found == ["+a", "+b", "-c"]


def test_a_moved_file_is_deleted_and_written():
    assert paths("*** Update File: a", "*** Move to: b/c", "@@", "-x", "+y") == ["-a", "+b/c"]


def test_lines_of_a_file_are_not_headers():
    assert paths("*** Update File: a", " *** Delete File: b", "+*** Add File: c") == ["+a"]
    assert paths("*** Add File: a", "+*** Add File: c") == ["+a"]


def test_a_header_that_only_tolerant_parsers_accept_counts():
    assert paths("*** Add File: a", "+x", "   *** Delete File: b  ") == ["+a", "-b"]
    assert paths("*** Add File:a") == ["+a"]
    assert paths("*** Update File: a b.txt\r") == ["+a b.txt"]


def test_two_patches_in_one_text_both_count():
    assert paths("*** Add File: a", "*** End Patch", "*** Begin Patch", "*** Add File: b") == [
        "+a",
        "+b",
    ]


def test_a_header_without_a_path_does_not_count():
    assert paths("*** Add File: ", "*** Move to:") == []


@given(st.text())
def test_any_text_can_be_parsed(text):
    assert isinstance(touched(text), tuple)


@given(st.lists(st.from_regex(r"[a-z][a-z /.]{0,8}[a-z]", fullmatch=True), max_size=5))
def test_all_files_are_found_in_order(files):
    lines = [
        line for file in files for line in (f"*** Add File: {file}", f"+*** Add File: {file}x")
    ]

    assert paths(*lines) == [f"+{file}" for file in files]
