"""Files that git ignores: no agent claims them by writing, and only claims that name them count."""

import subprocess

import pytest
from tests.services.guards import Guarded

from dibs.core.toolcalls.values import Word
from dibs.services.guard import ignored, shell_targets

ONE, TWO = "claude-11111111", "claude-22222222"
A, B = "11111111-a", "22222222-b"


@pytest.fixture
def guarded(tmp_path, own_git):
    found = Guarded(tmp_path / "repo")
    found.write(".gitignore", "dist/\n*.log\n/.env\n!keep.log\n")
    found.write("src/a.py")
    found.write("dist/forced.js")
    found.git("add", "-f", "dist/forced.js")
    found.commit()
    return found


@pytest.mark.parametrize(
    "path", ["dist/app.js", "build.log", "src/debug.log", ".env", "dist/a/b/c"]
)
def test_writing_an_ignored_file_claims_nothing_and_blocks_no_one(guarded, path):
    for session in (A, B):
        assert guarded.edit(session, path).word == Word.PASS
        assert guarded.shell(session, f"ls > {path}").word == Word.PASS
    assert guarded.held() == set()


@pytest.mark.parametrize("path", ["src/a.py", "new.py", "keep.log", "dist/forced.js"])
def test_writing_a_file_that_git_does_not_ignore_claims_it(guarded, path):
    guarded.shell(A, f"echo x > {path}")

    assert guarded.held() == {(ONE, path)}
    assert guarded.shell(B, f"echo x > {path}").word == Word.DENY


@pytest.mark.parametrize(
    ("claim", "path"),
    [
        ("dist/app.js", "dist/app.js"), ("dist/", "dist/app.js"), ("dist/**", "dist/app.js"),
        ("*.log", "build.log"), ("**/*.log", "src/debug.log"), (".env", ".env"),
    ],
)  # fmt: skip
def test_a_claim_that_names_ignored_files_protects_them(guarded, claim, path):
    guarded.claim(ONE, claim)

    assert guarded.edit(B, path).word == Word.DENY
    assert guarded.shell(B, f"ls > {path}").word == Word.DENY


@pytest.mark.parametrize("claim", ["src/**", "src/", "s*/**", "src/d*"])
def test_a_claim_that_happens_to_cover_ignored_files_does_not_block_them(guarded, claim):
    guarded.claim(ONE, claim)

    assert guarded.edit(B, "src/debug.log").word == Word.PASS
    assert guarded.shell(B, "rm -f src/debug.log; date >> src/debug.log").word == Word.PASS
    assert guarded.shell(B, "date >> src/data.py").word == Word.DENY


def test_a_folder_is_not_ignored_while_git_tracks_a_file_in_it(guarded):
    guarded.claim(ONE, "**/*.js")

    assert guarded.shell(B, "rm -rf dist").word == Word.DENY
    assert guarded.shell(B, "rm -f dist/app.js").word == Word.PASS


def test_a_claim_made_after_the_check_counts(guarded, monkeypatch):
    """A claim that Dibs has not looked at counts, whatever it names."""
    found = ignored.broad_claims

    def late(*given):
        broad = found(*given)
        guarded.claim(ONE, "dist/**")
        return broad

    monkeypatch.setattr(ignored, "broad_claims", late)

    assert guarded.shell(B, "ls > dist/app.js").word == Word.DENY


def test_a_glob_is_checked_by_the_files_that_it_matches_now(guarded):
    guarded.claim(ONE, "src/**")

    assert guarded.shell(B, "find . -name '*.orig' -delete").word == Word.PASS
    guarded.write("src/a.orig")
    assert guarded.shell(B, "find . -name '*.orig' -delete").word == Word.DENY
    assert guarded.shell(B, "find . -iname '*.ORIG' -delete").word == Word.DENY


@pytest.mark.parametrize("most", [1, 500])
@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.log' -delete", "rm -rf **/__pycache__", "find . -name '*.swp' -delete",
        "find . -name __pycache__ -type d -prune -exec rm -rf {} +",
    ],
)  # fmt: skip
def test_a_glob_that_matches_nothing_in_a_claimed_ignored_folder_is_allowed(
    guarded, monkeypatch, command, most
):
    monkeypatch.setattr(shell_targets, "_MOST", most)
    guarded.write(".gitignore", "dist/\n*.log\n*.swp\n__pycache__\n")
    for path in ("src/a.log", "src/b.log", "src/__pycache__/a", "dist/app.js"):
        guarded.write(path)
    guarded.claim(ONE, "dist/**")

    assert guarded.shell(B, command).word == Word.PASS

    for path in ("dist/b.log", "dist/c.swp", "dist/__pycache__/b"):
        guarded.write(path)
    assert guarded.shell(B, command).word == Word.DENY


@pytest.mark.parametrize(
    "rule",
    ["dist", "dist/", "/dist", "d*", "*t", "d?st", "[d]ist", "dist/**", "**/dist/*", "other", "*",
     "dist/app.js", "dist/*.js", r"\dist", "/**/app.js", "dist/app.??"],
)  # fmt: skip
def test_the_quick_test_never_misses_what_git_ignores(guarded, rule):
    guarded.git("rm", "-q", "--cached", "dist/forced.js")
    guarded.write(".gitignore", f"{rule}\n")
    asked = subprocess.run(
        ["git", "check-ignore", "-q", "dist/app.js"], cwd=guarded.root, check=False
    )

    found = ignored.ignored(guarded.root, guarded.repository.common, ["dist/app.js"])

    assert bool(found) == (asked.returncode == 0)


def test_rules_of_the_user_and_of_the_clone_count(guarded, tmp_path, monkeypatch):
    guarded.write(".git/info/exclude", "*.one\n")
    (tmp_path / "mine").write_text("*.two\n")
    guarded.git("config", "core.excludesFile", str(tmp_path / "mine"))
    guarded.write("src/.gitignore", "*.three\n")

    for path in ("a.one", "b.two", "src/c.three"):
        guarded.edit(A, path)
    guarded.edit(A, "c.three")

    assert guarded.held() == {(ONE, "c.three")}
