from __future__ import annotations

import os
import re
import socket
import subprocess

import pytest

from dibs.errors import BadInput
from dibs.local.paths import PathResolver
from dibs.local.repository import find


def git(folder, *args):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    allow = ("-c", "protocol.file.allow=always")
    plain = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    subprocess.run(
        ["git", *identity, *allow, *args], cwd=folder, check=True, capture_output=True, env=plain
    )


@pytest.fixture
def repo(tmp_path):
    top = tmp_path / "repo"
    for file in ("README.md", "src/a.py", "src/deep/b.py", "app/[id]/page.tsx", "docs/x.md"):
        (top / file).parent.mkdir(parents=True, exist_ok=True)
        (top / file).touch()
    git(top, "init", "-b", "main")
    git(top, "add", ".")
    git(top, "commit", "-m", "first")
    return top


def at(folder, **options):
    return PathResolver(find(str(folder), {}), **options)


def resolve(folder, text, **options):
    return at(folder).resolve(text, **options).text


def refusal(folder, text, **options):
    with pytest.raises(BadInput) as caught:
        at(folder).resolve(text, **options)
    assert caught.value.message.isprintable()
    assert caught.value.hint
    return caught.value.code


SPELLINGS = [
    *("src/a.py", "./src/a.py", "src/./a.py", "src//a.py", "docs/../src/a.py", "src/deep/../a.py"),
    *("{top}/src/a.py", "{top}/docs/../src/./a.py", "../repo/src/a.py", "absent/../src/a.py"),
    *("link/a.py", "to-a.py", "chain.py", "src/up/src/a.py", "absolute/a.py", "{away}/src/a.py"),
    *("file:src/a.py", "FILE:link/a.py", "file:./docs/../src/a.py", "file:{top}/src/a.py"),
    *("file://{top}/src/a.py", "File://localhost{away}/src/%61.py", "file:../repo/src/a.py"),
    *("detour/src/a.py", "link/deep/../a.py", "{away}/../repo/src/a.py", "{away-file}"),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_all_spellings_of_a_file_give_one_path(repo, tmp_path, spelling):
    (repo / "link").symlink_to("src")
    (repo / "to-a.py").symlink_to("src/a.py")
    (repo / "chain.py").symlink_to("link/../to-a.py")
    (repo / "src/up").symlink_to("..")
    (repo / "absolute").symlink_to(repo / "src")
    (repo / "detour").symlink_to("../repo/docs/..")
    (tmp_path / "away").symlink_to(repo)
    (tmp_path / "away-file").symlink_to(repo / "src/a.py")
    typed = (
        spelling.replace("{top}", str(repo))
        .replace("{away}", str(tmp_path / "away"))
        .replace("{away-file}", str(tmp_path / "away-file"))
    )

    assert at(repo).resolve(typed) == at(repo).resolve("src/a.py")
    assert resolve(repo, typed) == "src/a.py"


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("a.py", "src/a.py"),
        ("../docs/x.md", "docs/x.md"),
        ("deep/b.py", "src/deep/b.py"),
        (".", "src/"),
        ("deep/..", "src/"),
        ("*.py", "src/*.py"),
        ("../*.md", "*.md"),
        ("**", "src/**"),
        ("new.py", "src/new.py"),
        ("../../repo/README.md", "README.md"),
    ],
)
def test_a_relative_path_starts_in_the_current_folder(repo, typed, path):
    assert resolve(repo / "src", typed) == path


def test_the_scheme_file_names_a_path_even_if_a_file_is_called_like_that(repo):
    (repo / "file:README.md").touch()

    assert resolve(repo, "file:README.md") == "README.md"
    assert resolve(repo, "./file:README.md") == "./file:README.md"
    assert resolve(repo, "file:file:README.md") == "./file:README.md"
    assert resolve(repo, "file:README.md", literal=True) == "./file:README.md"
    assert resolve(repo, "file:task:42") == "./task:42"
    assert resolve(repo / "src", "file:*.py") == "src/*.py"
    assert resolve(repo, "file:src") == "src/"


def test_percent_signs_are_decoded_in_file_urls_only(repo):
    for name in ("a b", "a%20b"):
        (repo / name).touch()

    assert resolve(repo, "file:a%20b") == "a%20b"
    assert resolve(repo, f"file:{repo}/a%20b") == "a%20b"
    assert resolve(repo, f"file://{repo}/a%20b") == "a b"
    assert resolve(repo, f"file://{repo}/src/*.py") == "src/*.py"
    assert resolve(repo, f"file://{repo}/src/%2A.py") == r"src/\*.py"
    assert resolve(repo, f"file://{repo}/app/%5bid%5D/page.tsx") == r"app/\[id\]/page.tsx"


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("file:", "PATH_EMPTY"),
        ("file:.", "PATH_EMPTY"),
        ("file:../x", "PATH_ESCAPE"),
        ("file:/etc/passwd", "PATH_ABSOLUTE"),
        ("file:///etc/passwd", "PATH_ABSOLUTE"),
        ("file://server/share/x", "PATH_ABSOLUTE"),
    ],
)
def test_a_file_that_is_not_in_the_repository_is_refused_as_it_was_written(repo, typed, code):
    assert refusal(repo, typed) == code
    with pytest.raises(BadInput, match=re.escape(f'"{typed}"')):
        at(repo).resolve(typed)


def test_a_file_url_cannot_smuggle_a_nul_byte(repo):
    assert refusal(repo, f"file://{repo}/x%00") == "PATH_NUL"


def test_the_current_folder_may_have_special_characters(repo):
    assert resolve(repo / "app/[id]", "*.tsx") == r"app/\[id\]/*.tsx"
    assert resolve(repo / "app/[id]", "page.tsx") == r"app/\[id\]/page.tsx"


def test_dots_go_up_from_the_target_of_a_link_as_in_the_system(repo):
    (repo / "link").symlink_to("src/deep")

    assert resolve(repo, "link/../a.py") == "src/a.py"


@pytest.mark.parametrize("typed", ["src", "src/", "./src", "docs/../src/", "to-src", "to-src/"])
def test_an_existing_folder_means_everything_in_it(repo, typed):
    (repo / "to-src").symlink_to("src")

    assert at(repo).resolve(typed) == at(repo).resolve("src/**")
    assert resolve(repo, typed) == "src/"


@pytest.mark.parametrize(
    "typed",
    ["new.py", "new/er/file.py", "src/new.py", "new/", "a{b,c}.py", "src/**/*.py", "-f", "#x"],
)
def test_a_path_that_does_not_exist_stays_as_typed(repo, typed):
    assert resolve(repo, typed) == typed


def test_a_link_to_a_missing_file_means_its_target(repo):
    (repo / "dangling").symlink_to("src/[later].py")

    assert resolve(repo, "dangling") == r"src/\[later\].py"
    assert resolve(repo, "dangling") == resolve(repo, "src/[later].py", literal=True)


def test_special_characters_are_literal_if_such_a_file_exists(repo):
    (repo / "app/[id]/[...slug].tsx").touch()
    (repo / "app/*").touch()

    assert resolve(repo, "app/[id]/page.tsx") == r"app/\[id\]/page.tsx"
    assert resolve(repo, "app/[id]/[...slug].tsx") == r"app/\[id\]/\[...slug\].tsx"
    assert resolve(repo, "app/[id]") == r"app/\[id\]/"
    assert resolve(repo, "app/[id]/*.tsx") == r"app/\[id\]/*.tsx"
    assert resolve(repo, "app/*") == r"app/\*"
    assert resolve(repo, "app/[i]d/page.tsx") != r"app/\[i\]d/page.tsx"


def test_literal_keeps_every_name_as_it_is(repo):
    assert resolve(repo, "new/*[x]{a,b}?.py", literal=True) == r"new/\*\[x\]\{a,b\}\?.py"
    assert resolve(repo, "task:42", literal=True) == "./task:42"
    assert resolve(repo, "src", literal=True) == "src/"


def test_an_escaped_name_is_followed_like_a_plain_one(repo):
    (repo / "src/[link].py").symlink_to("a.py")

    assert resolve(repo, r"app/\[id\]/page.tsx") == r"app/\[id\]/page.tsx"
    assert resolve(repo, r"src/\[link\].py") == "src/a.py"


def test_a_canonical_pattern_resolves_to_itself(repo):
    for typed in ("app/[id]/page.tsx", "app/[id]", "src", "src/*.py", "./task:42", "./@x", "./~a"):
        once = resolve(repo, typed)

        assert resolve(repo, once) == once


@pytest.mark.parametrize("name", ["task:42", "port:8000", "@git/index", "task:{1,2}"])
def test_named_resources_are_the_same_from_everywhere(repo, name):
    assert resolve(repo / "src", name) == name


def test_a_leading_dot_makes_a_resource_name_a_file(repo):
    assert resolve(repo / "src", "./task:42") == "src/task:42"
    assert resolve(repo, "./task:42") == "./task:42"


@pytest.mark.parametrize("typed", ["../x", "a/../../x", "..", "src/../..", "../repo-2/a", "src/.."])
def test_a_path_that_leaves_the_repository_is_refused(repo, typed):
    (repo.parent / "repo-2").mkdir()

    assert refusal(repo, typed) == "PATH_ESCAPE"


@pytest.mark.parametrize(
    "typed", ["out", "out/", "out/passwd", "file-out", "up-out/x", "src/*/../../../x"]
)
def test_links_that_point_outside_are_refused(repo, typed):
    (repo / "out").symlink_to("/etc")
    (repo / "file-out").symlink_to("/etc/passwd")
    (repo / "up-out").symlink_to("../elsewhere")

    assert refusal(repo, typed) == "PATH_ESCAPE"


def test_a_cycle_of_links_is_refused(repo):
    (repo / "one").symlink_to("two")
    (repo / "two").symlink_to("one")
    (repo / "self").symlink_to(repo / "self")

    assert refusal(repo, "one") == "PATH_ESCAPE"
    assert refusal(repo, "self/x") == "PATH_ESCAPE"


@pytest.mark.parametrize(
    "typed", ["/etc/passwd", "/", "/nowhere/x", "C:\\x", "\\\\host\\s", "file:///x", "~root/x", "~"]
)
@pytest.mark.parametrize("folder", ["", "src"])
def test_an_absolute_path_outside_is_refused(repo, folder, typed):
    assert refusal(repo / folder, typed) == "PATH_ABSOLUTE"


def test_a_sibling_with_the_same_prefix_is_outside(repo):
    (repo.parent / "repo-2").mkdir()

    assert refusal(repo, f"{repo}-2/a.py") == "PATH_ABSOLUTE"


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("", "PATH_EMPTY"),
        ("   ", "PATH_EMPTY"),
        (".", "PATH_EMPTY"),
        ("./", "PATH_EMPTY"),
        ("{top}", "PATH_EMPTY"),
        ("{top}/", "PATH_EMPTY"),
        ("....//", "PATH_ESCAPE"),
        ("a\0b", "PATH_NUL"),
        ("a\nb", "PATH_CONTROL"),
        ("src/\u202ex", "PATH_CONTROL"),
        ("a" * 300, "PATH_TOO_LONG"),
        ("a/" * 70 + "b", "PATH_TOO_LONG"),
        ("x" * 100_000, "PATH_TOO_LONG"),
        (".git/config", "PATH_RESERVED"),
        (".GIT", "PATH_RESERVED"),
        ("{top}/.git", "PATH_RESERVED"),
        ("into-git", "PATH_RESERVED"),
        ("src/a.py/b", "PATH_NOT_DIR"),
        ("src/a.py/*.x", "PATH_NOT_DIR"),
        ("src/a.py/../a.py", "PATH_NOT_DIR"),
        ("src/a.py/", "PATH_NOT_DIR"),
        ("src/[", "GLOB_SYNTAX"),
        ("\udcff", "PATH_ENCODING"),
        ("src/\udcff/*.py", "PATH_ENCODING"),
    ],
)
def test_bad_input_gets_its_code(repo, typed, code):
    (repo / "into-git").symlink_to(".git/config")

    assert refusal(repo, typed.replace("{top}", str(repo))) == code


def test_half_of_a_surrogate_pair_is_refused(repo):
    assert refusal(repo, "\ud800") == "PATH_ENCODING"


def test_pipes_sockets_and_devices_are_refused(repo):
    os.mkfifo(repo / "pipe")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(repo / "sock"))

    assert refusal(repo, "pipe") == "PATH_KIND"
    assert refusal(repo, "sock") == "PATH_KIND"


def test_a_name_that_is_not_utf8_is_accepted_if_it_exists(repo):
    typed = os.fsdecode(b"src/caf\xe9.txt")
    (repo / typed).touch()

    assert resolve(repo, typed) == r"src/caf\xe9.txt"
    assert resolve(repo, r"src/caf\xe9.txt") == r"src/caf\xe9.txt"


@pytest.fixture
def inner(repo, tmp_path):
    """Two repositories inside the repository, and a link to one."""
    git(tmp_path, "clone", "repo", "elsewhere")
    git(repo, "submodule", "add", str(tmp_path / "elsewhere"), "inner")
    (repo / "src/own").mkdir()
    git(repo / "src/own", "init")
    (repo / "to-inner").symlink_to("inner")
    return repo


INSIDE = ["inner/", "inner/x.md", "inner/*.md", "src/own/x", "to-inner/x"]


@pytest.mark.parametrize("typed", INSIDE)
@pytest.mark.parametrize("has", ["settings", "state"])
def test_other_projects_inside_are_refused(inner, typed, has):
    states = {"inner": inner / ".git/modules/inner/dibs", "src/own": inner / "src/own/.git/dibs"}
    for name, state in states.items():
        state.mkdir() if has == "state" else (inner / name / "dibs.toml").touch()

    assert refusal(inner, typed) == "PATH_SUBMODULE"


@pytest.mark.parametrize(
    ("typed", "path"), list(zip(INSIDE, [*INSIDE[:-1], "inner/x"], strict=True))
)
def test_files_of_other_repositories_inside_belong_to_this_project(inner, typed, path):
    assert resolve(inner, typed) == path


@pytest.mark.parametrize("broken", ["folder", "file"])
def test_a_git_entry_without_a_repository_does_not_change_a_files_path(repo, broken):
    """Git skips an empty folder; a broken file makes a repository that nothing works in."""
    entry = repo / "src" / ".git"
    entry.mkdir() if broken == "folder" else entry.write_text("gitdir: nowhere")

    assert resolve(repo, "src/x.py") == "src/x.py"


def test_a_submodule_itself_can_be_claimed(repo, tmp_path):
    git(tmp_path, "clone", "repo", "elsewhere")
    git(repo, "submodule", "add", str(tmp_path / "elsewhere"), "inner")

    assert resolve(repo, "inner") == "inner"


@pytest.mark.parametrize("where", ["../other", ".worktrees/other"])
def test_the_same_file_in_any_worktree_is_one_path(repo, where):
    git(repo, "worktree", "add", where, "-b", "other")
    other = (repo / where).resolve()

    assert resolve(other, "src/a.py") == "src/a.py"
    assert resolve(other, f"{repo}/src/a.py") == "src/a.py"
    assert resolve(repo, f"{other}/src/a.py") == "src/a.py"
    assert resolve(repo, f"{other}/src/new.py") == "src/new.py"
    assert resolve(repo / "src", f"{other}/src") == "src/"
    assert resolve(repo, f"{other}/src/*.py") == "src/*.py"
    assert resolve(repo, f"{other}/src/../docs/x.md") == "docs/x.md"


def test_a_worktree_inside_the_tree_can_be_reached_by_a_relative_path(repo):
    git(repo, "worktree", "add", ".worktrees/other", "-b", "other")

    assert resolve(repo, ".worktrees/other/src/a.py") == "src/a.py"
    assert refusal(repo, ".worktrees/other") == "PATH_EMPTY"


def test_links_in_another_worktree_are_followed_there(repo):
    git(repo, "worktree", "add", "../other")
    (repo.parent / "other/link").symlink_to("src")

    assert resolve(repo, f"{repo.parent}/other/link/a.py") == "src/a.py"


def test_git_files_are_reserved_even_if_git_is_a_file(repo):
    git(repo, "worktree", "add", "../other")

    assert refusal(repo.parent / "other", ".git/config") == "PATH_RESERVED"


def test_a_link_into_another_worktree_points_outside(repo):
    git(repo, "worktree", "add", "../other")
    (repo / "link").symlink_to("../other/src")

    assert refusal(repo, "link/a.py") == "PATH_ESCAPE"


def test_another_repository_is_not_a_worktree(repo, tmp_path):
    git(tmp_path, "clone", "repo", "clone")

    assert refusal(repo, f"{tmp_path}/clone/src/a.py") == "PATH_ABSOLUTE"


def test_from_outside_the_worktree_only_paths_into_it_are_valid(repo):
    tree = PathResolver(find(str(repo), {})._replace(subdir="../side"))
    (repo.parent / "side").mkdir()

    assert tree.resolve("../repo/src/a.py").text == "src/a.py"
    with pytest.raises(BadInput) as caught:
        tree.resolve("a.py")
    assert caught.value.code == "PATH_ESCAPE"
