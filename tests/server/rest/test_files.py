"""Files over REST: who holds them, where agents meet, and what happened to one."""

from __future__ import annotations

import subprocess

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import own_environment
from tests.server.rest.conftest import agent, as_identity
from tests.server.rest.twins import check_shape, route_of

from dibs.project.project import create
from dibs.server.resident import Resident
from dibs.server.rest.app import PREFIX, rest_app

FILES = {
    "README.md": "hello",
    "src/auth/login.py": "x" * 10,
    "src/auth/logout.py": "x",
    "src/app.py": "x",
    "src/odd [1].py": "x",
    ".gitignore": "*.log\n",
}


@pytest.fixture(scope="module")
def crew(tmp_path_factory):
    """A repository in which ada holds a folder, bob waits for a file of it, and eve plans a file."""
    folder = tmp_path_factory.mktemp("files")
    repo = folder / "repo"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own_environment(folder).items():
            patch.setenv(name, value)
        for name, text in FILES.items():
            (repo / name).parent.mkdir(parents=True, exist_ok=True)
            (repo / name).write_text(text)
        git = ("git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@b.example")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "begin"]):
            subprocess.run([*git, *words], check=True)
        project, _ = create(str(repo))
        project.close()
        (repo / "src/app.py").write_text("changed")
        (repo / "src/new.py").write_text("new")
        (repo / "debug.log").write_text("ignored")
        resident = Resident(str(folder / "state"))
        resident.projects.add(str(repo))
        app = rest_app(resident)

        def ask(who, method, path, **more):
            client = TestClient(as_identity(app, agent(who)), base_url="http://127.0.0.1")
            answer = client.request(method, PREFIX + path, **more)
            if answer.status_code == 200 and method == "GET":
                check_shape(route_of(method, PREFIX + path), answer.json())
            return answer

        def claim(who, *patterns, **more):
            ask(who, "POST", "/claims", json={"patterns": patterns, **more})

        claim("ada", "src/auth/")
        claim("bob", "src/auth/login.py")
        claim("bob", "src/auth/login.py", queue=True)
        claim("eve", "docs/plan.md", "port:80")
        yield ask
        resident.stop()


def nodes(crew, **query):
    answer = crew("bob", "GET", "/files", params=query).json()
    return {one["path"]: one for one in answer["nodes"]}, answer


def test_a_folder_lists_its_children_with_the_counts_of_everything_below(crew):
    found, whole = nodes(crew)

    assert list(found) == ["docs", "src", ".gitignore", "README.md"]
    src = found["src"]
    assert (src["folder"], src["files"], src["changed"], src["claims"]) == (True, 5, 2, 1)
    assert src["owners"] == [{"agent": "ada", "files": 2}]
    assert (src["waiting"], src["contention"]) == (1, 2)
    assert whole["total"]["files"] == 8
    assert whole["total"]["claims"] == 2
    assert "debug.log" not in found


def test_only_one_folder_is_listed_and_it_may_have_several_levels(crew):
    below, _ = nodes(crew, folder="src")
    deep, cut = nodes(crew, depth=3, limit=5)

    assert list(below) == ["src/auth", "src/app.py", "src/new.py", "src/odd [1].py"]
    assert (below["src/new.py"]["changed"], below["src/auth"]["bytes"]) == (1, 11)
    assert list(deep)[:4] == ["docs", "src", ".gitignore", "README.md"]
    assert cut["more"] == 6
    missing = crew("bob", "GET", "/files", params={"folder": "nowhere"})
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "NO_FILE")
    out = crew("bob", "GET", "/files", params={"folder": "../other"})
    assert out.status_code == 400


def test_a_claimed_file_that_does_not_exist_yet_is_listed_as_missing(crew):
    found, _ = nodes(crew, folder="docs")

    assert found["docs/plan.md"]["missing"]
    assert found["docs/plan.md"]["owners"] == [{"agent": "eve", "files": 1}]


@pytest.mark.parametrize(
    ("match", "paths"),
    [
        ("LOG", ["src/auth/login.py", "src/auth/logout.py"]),
        ("*.md", ["README.md", "docs/plan.md"]),
        ("src/**/l*.py", ["src/auth/login.py", "src/auth/logout.py"]),
        ("[1]", []),
        ("odd", ["src/odd [1].py"]),
    ],
)
def test_files_are_found_by_a_part_of_the_path_or_a_glob(crew, match, paths):
    found, _ = nodes(crew, match=match)

    assert list(found) == paths
    assert all(one["claims"] for path, one in found.items() if "auth" in path)


def test_a_search_says_how_many_files_it_leaves_out(crew):
    found, whole = nodes(crew, match="src/", limit=2)

    assert (len(found), whole["more"]) == (2, 3)


def test_a_file_shows_its_owner_its_queue_and_what_happened_to_it(crew):
    shown = crew("bob", "GET", "/files/src/auth/login.py").json()

    assert [one["agent"] for one in shown["holders"]] == ["ada"]
    assert [(one["agent"], one["blocked_by"][0]["holder"]) for one in shown["queue"]] == [
        ("bob", "ada")
    ]
    assert [(one["agent"], one["kind"]) for one in shown["log"]] == [
        ("bob", "lock_queued"), ("bob", "lock_denied"), ("ada", "lock_acquired"),
    ]  # fmt: skip
    assert (shown["tracked"], shown["change"]) == (True, None)
    changed = crew("bob", "GET", "/files/src%2Fapp.py").json()
    assert (changed["change"], changed["log"], changed["file"]["changed"]) == ("modified", [], 1)
    odd = crew("bob", "GET", "/files/src/odd%20%5B1%5D.py").json()
    assert (odd["file"]["path"], odd["tracked"]) == ("src/odd [1].py", True)
    planned = crew("bob", "GET", "/files/docs/plan.md").json()
    assert (planned["file"]["missing"], planned["tracked"]) == (True, False)


def test_the_owners_at_a_moment_are_those_of_that_moment(crew):
    _, before = nodes(crew, at="1h")
    _, now = nodes(crew, at="0s")

    assert before["total"]["owners"] == []
    assert now["total"]["owners"] == nodes(crew)[1]["total"]["owners"] != []


def test_the_merge_queue_is_empty_while_nobody_merges(crew):
    assert crew("bob", "GET", "/merges").json() == {"running": [], "waiting": [], "results": []}
