"""The board of a real project: worktrees share it, and clones follow through any engine."""

import subprocess

import pytest
from tests.services.boards import HUMAN

from dibs.core.claims.agents import Caller
from dibs.local.repository import Repository
from dibs.project.project import create, main_tree, open_project
from dibs.services.board.check import check
from dibs.services.tasks.values import Draft

CURATOR = Caller("curator")


def git(path, *args):
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@x", *args]
    subprocess.run(command, cwd=path, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path):
    path = tmp_path / "repo"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    git(path, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def add(project, id_):
    project.tasks.create(HUMAN, [Draft(fields={"title": id_}, id=id_)])


def test_every_call_reconciles_the_board_and_writes_its_files(repo):
    project, _ = create(str(repo), {})
    tasks, work = project.tasks, repo / "work"
    steps = [
        (lambda: tasks.create(HUMAN, [Draft(fields={"title": "t1"}, id="t1")]), "inbox"),
        (lambda: tasks.take(CURATOR), "assigned/curator"),
        (lambda: tasks.release(CURATOR, "t1"), "inbox"),
        (lambda: tasks.start(CURATOR, "t1"), "assigned/curator"),
        (lambda: tasks.fail(CURATOR, "t1", message="no"), "assigned/curator"),
        (lambda: tasks.retry(HUMAN, "t1"), "inbox"),
        (lambda: tasks.block(HUMAN, "t1", reason="later"), "inbox"),
        (lambda: tasks.reopen(HUMAN, "t1"), "inbox"),
        (lambda: tasks.reassign(HUMAN, "t1", to="curator"), "assigned/curator"),
        (lambda: tasks.start(CURATOR, "t1"), "assigned/curator"),
        (lambda: tasks.done(CURATOR, "t1", summary="all"), "done"),
        (lambda: tasks.reopen(HUMAN, "t1"), "assigned/curator"),
        (lambda: tasks.cancel(HUMAN, "t1"), "done"),
        (lambda: project.delegation.delegate(HUMAN, "curator", "t2 and more"), "done"),
    ]

    for number, (act, place) in enumerate(steps):
        dropped = work / f"inbox/by-hand-{number}.yaml"
        if number > 1:
            dropped.write_text("title: from a shell\nagent: nobody\n")
        act()
        assert [str(p.parent.relative_to(work)) for p in work.rglob("t1.yaml")] == [place], number
        assert number < 2 or "status: new" in dropped.read_text(), number
    project.close()


def test_all_worktrees_of_a_clone_share_one_board(repo, tmp_path):
    git(repo, "worktree", "add", "-q", str(tmp_path / "side"))
    project = open_project(str(tmp_path / "side"), {})

    add(project, "t1")

    assert (repo / "work/inbox/t1.yaml").exists()
    assert not (tmp_path / "side/work").exists()
    project.close()


@pytest.mark.parametrize("common", ["/x/.git/modules/sub", "/x/bare.git", ""])
def test_without_a_main_tree_each_working_tree_has_its_own_board(common):
    assert main_tree(Repository("/y", common, "/s", "")) == "/y"


def test_working_trees_with_separate_boards_do_not_mix_up_their_files(repo, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    for name in ("one", "two"):
        git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", name, str(tmp_path / name))
    one, two = (open_project(str(tmp_path / name), {}) for name in ("one", "two"))
    add(one, "t1")
    add(two, "t2")
    file = tmp_path / "one/work/inbox/t1.yaml"
    file.write_text(file.read_text().replace('title: "t1"', "title: edited"))
    for project in (one, two, one, two):
        with project.board.command(HUMAN, makes=True) as settled:
            assert (settled.restored, settled.kept, settled.aside) == ([], [], [])

    for name in ("one", "two"):
        assert "edited" in (tmp_path / name / "work/inbox/t1.yaml").read_text()
    one.close()
    two.close()


def test_the_check_warns_that_a_worktrees_folder_is_not_the_board(repo, tmp_path):
    git(repo, "worktree", "add", "-q", str(tmp_path / "side"))
    project = open_project(str(tmp_path / "side"), {})
    add(project, "t1")
    assert [f.what for f in check(project.board, str(tmp_path / "side"))] == ["board"]

    (tmp_path / "side/work/inbox").mkdir(parents=True)

    (found,) = check(project.board, str(tmp_path / "side"))
    assert (found.what, str(repo / "work") in found.text) == ("BESIDE", True)
    project.close()


def test_the_folder_is_configurable(repo):
    (repo / "dibs.toml").write_text('[board]\nfolder = "coordination/work"\n')
    project = open_project(str(repo), {})

    add(project, "t1")

    assert (repo / "coordination/work/inbox/t1.yaml").exists()
    project.close()


@pytest.fixture(params=["redis", "git"])
def engine_url(request):
    if request.param == "redis":
        return request.getfixturevalue("redis_url")
    return f"git:{request.getfixturevalue('git_remote').path}"


@pytest.mark.slow
def test_two_clones_show_the_same_board_on_every_shared_engine(tmp_path, engine_url):
    clones = []
    for name in ("one", "two"):
        path = tmp_path / name
        path.mkdir()
        git(path, "init", "-q")
        clones.append(open_project(str(path), {}, {"engine": engine_url, "project": "shared"}))
    one, two = clones

    add(one, "t1")
    with two.board.command(CURATOR, makes=True):
        two.tasks.take(CURATOR)
    (tmp_path / "one/work/inbox/t2.yaml").write_text("title: by hand\n")
    with one.board.command(HUMAN, makes=True) as settled:
        assert [verdict.id for verdict in settled.accepted] == ["t2"]
    with two.board.command(CURATOR, makes=True):
        two.tasks.done(CURATOR, "t1", summary="all of it")
    with one.board.command(HUMAN, makes=True):
        pass

    boards = [sorted(map(str, (tmp_path / n / "work").rglob("t?.yaml"))) for n in ("one", "two")]
    assert [path.replace("/one/", "/two/") for path in boards[0]] == boards[1]
    assert [path.rpartition("/work/")[2] for path in boards[0]] == ["done/t1.yaml", "inbox/t2.yaml"]
    texts = [(tmp_path / n / "work/done/t1.yaml").read_text() for n in ("one", "two")]
    assert texts[0] == texts[1]
    for project in clones:
        project.close()
