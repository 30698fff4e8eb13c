"""All paths of a patch are found, whatever the file contents say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dibs.core.toolcalls.patches import diffed, is_patch, touched

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


def test_the_prefixes_of_git_are_not_folders():
    def found(old, new, strip=-1):
        return [touch.path for touch in diffed(f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n", strip)]

    assert found("a/src/x", "b/src/x") == found("i/src/x", "w/src/x") == ["src/x"]
    assert found("/dev/null", "b/src/x") == found("a/src/x", "/dev/null") == ["src/x"]
    assert found("c/x", "c/x") == ["c/x"]
    assert found("src/x.orig", "src/x") == ["src/x.orig", "src/x"]
    assert found("top/src/x", "top/src/x", 1) == ["src/x"]


def test_a_renamed_and_a_binary_file_of_a_diff_are_found():
    lines = ["diff --git a/old b/new", "rename from old", "rename to new"]

    found = [SIGNS[touch.how] + touch.path for touch in diffed("\n".join(lines))]

    assert found == ["+new", "-old"]
