"""``dibs report``: one page, an image, or JSON of what happened."""

from __future__ import annotations

import re
import shutil

import pytest
from tests.cli.conftest import PROGRAM

from dibs import dashboard

HOSTILE = "</script><script>alert(1)</script><!-- \u2028"
#: Instead of the built script: it contains what could end its own block.
SCRIPT = "const page = '</script><!--<script>';\n"


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A small script and style instead of the built ones."""
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "report.js").write_text(SCRIPT)
    (folder / "report.css").write_text("p::after { content: '</style>' }\n")
    monkeypatch.setattr(dashboard, "FOLDER", str(folder))
    return folder


def blocks(page: str, name: str) -> list[str]:
    """Return the contents of some elements, as a browser would find them."""
    return re.findall(rf"<{name}(?: [^>]*)?>(.*?)</{name}", page, re.DOTALL | re.IGNORECASE)


def test_the_page_has_the_data_and_nothing_in_it_can_end_its_block(dibs, built, repo):
    dibs("claim", "src/a.py", "--reason", HOSTILE, agent="ada")
    done = dibs("report")
    assert (done.status, done.out.splitlines()[0]) == (0, "wrote report.html"), done.err
    page = (repo / "report.html").read_text("utf-8")
    data, script = blocks(page, "script")
    assert "rename" not in data
    assert "\\u003c/script\\u003e" in data
    assert "alert(1)\\u003c" in data
    assert "\u2028" not in page
    assert script == SCRIPT.replace("<", "\\x3c")
    assert len(blocks(page, "style")) == 1
    assert not re.search(r"(src|href)=|https?:", page)


def test_the_policy_allows_only_the_script_and_the_style_of_the_page(dibs, built, repo):
    from base64 import b64encode
    from hashlib import sha256

    dibs("claim", "a", agent="ada")
    dibs("report")
    page = (repo / "report.html").read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    for kind, text in (("script", blocks(page, "script")[1]), ("style", blocks(page, "style")[0])):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_json_has_the_same_data_and_writes_no_file(dibs, built, repo):
    dibs("claim", "src/a.py", agent="ada")
    dibs("claim", "src/a.py", agent="bob")
    found = dibs("report", "--json").json
    assert [claim["pattern"] for claim in found["claims"]] == ["src/a.py"]
    assert (found["totals"]["denied"], found["project"]) == (1, "repo")
    assert "written" not in found
    assert list(repo.iterdir()) == [repo / ".git"]
    assert dibs("report", "--json", "-o", "r.html").json["written"] == ["r.html"]


def test_an_empty_ledger_gives_a_page_and_says_so(dibs, built, repo):
    done = dibs("report", "-o", "empty.html")
    assert done.out == "wrote empty.html\nthe ledger is empty: nothing has happened yet\n"
    assert '"known_since":null' in (repo / "empty.html").read_text()


def test_the_window_begins_and_ends_where_the_options_say(dibs, built):
    dibs("claim", "a", agent="ada")
    found = dibs("report", "--since", "all", "--json").json
    assert found["since"] == found["known_since"]
    later = dibs("report", "--since", "2099-01-01", "--json")
    assert (later.status, later.json["error"]["code"]) == (65, "SINCE")
    before = dibs("report", "--since", "2h", "--until", "1h", "--json").json
    assert before["claims"] == []


def test_only_a_report_is_replaced(dibs, built, repo):
    (repo / "main.py").write_text("work\n")
    (repo / "docs").mkdir()
    for words, why in (
        (("-o", "main.py"), "main.py exists and is not a report"),
        (("-o", "docs"), "docs is a folder"),
        (("-o", "none/r.html"), "there is no folder"),
    ):
        done = dibs("report", *words)
        assert (done.status, why in done.err) == (65, True), done.err
    assert (repo / "main.py").read_text() == "work\n"
    assert [dibs("report").status for _ in range(2)] == [0, 0]


def test_the_page_can_go_to_standard_output(start, dibs):
    if dashboard.path_of("report.js") is None:
        pytest.skip("the dashboard is not built")
    out, err = start("report", "-o", "-", program=PROGRAM).communicate(timeout=30)
    assert out.startswith("<!doctype html><!-- dibs report -->\n"), err
    assert out.endswith("</html>\n")


def test_without_the_built_page_json_still_works(dibs, built, repo):
    shutil.rmtree(built)
    done = dibs("report")
    assert (done.status, "--json works anyway" in done.err) == (6, True)
    assert dibs("report", "--json").status == 0
    assert not (repo / "report.html").exists()
