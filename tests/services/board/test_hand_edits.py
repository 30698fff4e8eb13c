"""Shell agents and people with editors: what they do to files, and what happens."""

import errno
import os
import subprocess

import pytest
from tests.services.boards import HUMAN, World, task

from dibs.core.text.findings import Level
from dibs.errors import BadInput
from dibs.services.board.check import check, repair
from dibs.services.tasks.values import TakenTask
from dibs.workdir.disk import Disk


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path / "repo")
    world.reconcile()
    return world


def codes(settled):
    return {f"{v.place}/{v.id}": v.code for v in settled.aside}


DROPPED = "2025-11-23T1430-curator-audit"


def drop(world, id_=DROPPED):
    """Create a YAML file in ``work/inbox``, as the document says."""
    world.write(f"inbox/{id_}.yaml", task(id_))
    return world.reconcile()


def assigned(world, id_=DROPPED):
    drop(world, id_)
    with world.board.command(HUMAN, makes=True):
        world.tasks.assign(HUMAN)
    assert world.row(id_).place == "assigned/curator"


# -- the documented procedures


def test_the_curators_procedure_works_with_only_an_editor_and_mv(world):
    assigned(world)
    path = f"assigned/curator/{DROPPED}.yaml"
    assert "status: assigned" in world.read(path)

    world.sh(f"sed -i 's/^status: assigned/status: in_progress/' {path}")
    world.sh(f"echo \"started_at: '$(date -u +%Y-%m-%dT%H:%M:%SZ)'\" >> {path}")
    assert codes(world.reconcile()) == {}
    assert world.row(DROPPED).task.status == "in_progress"

    world.sh(f"""
        cat >> {path} <<'END'
result:
  summary: "Audited"
  artefacts:
    - "docs/audit.md"
  completed_at: "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
END
        sed -i "s/\\$(date[^)]*)/$(date -u +%Y-%m-%dT%H:%M:%SZ)/" {path}
        sed -i 's/^status: in_progress/status: done/' {path}
        mv {path} done/
    """)
    assert codes(world.reconcile()) == {}

    row = world.row(DROPPED)
    assert (row.task.status, row.task.summary, row.place) == ("done", "Audited", "done")
    assert "color: green" in world.read(f"done/{DROPPED}.yaml")
    assert "# for the release" in world.read(f"done/{DROPPED}.yaml")
    world.consistent()


def test_many_new_files_are_one_transaction(world):
    before = world.tasks.head()
    for n in range(120):
        world.write(f"inbox/t{n}.yaml", f"title: number {n}\n")

    assert len(world.reconcile().accepted) == 120
    assert world.tasks.head() > before
    world.consistent()


# -- how tools write


def test_an_editor_that_writes_in_place(world):
    drop(world)
    text = world.read(f"inbox/{DROPPED}.yaml")
    world.write(f"inbox/{DROPPED}.yaml", text.replace("green", "black"))

    world.reconcile()

    assert "color: black" in world.row(DROPPED).text
    world.consistent()


def test_a_copy_followed_by_a_removal_is_a_move(world):
    """The document's own scripts write the new file and then unlink the old one."""
    assigned(world)
    old, new = f"assigned/curator/{DROPPED}.yaml", f"done/{DROPPED}.yaml"
    world.sh(f"sed 's/^status: .*/status: cancelled/' {old} > {new}")
    assert codes(world.reconcile()) == {f"done/{DROPPED}": "TASK_DUPLICATE"}

    world.sh(f"rm {old}")

    assert codes(world.reconcile()) == {}
    assert world.row(DROPPED).task.status == "cancelled"
    world.consistent()


def test_a_checkout_of_an_older_board_does_not_undo_the_work(world):
    def git(*args):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *args],
                       cwd=world.path, check=True, capture_output=True)  # fmt: skip

    git("init", "-q", "-b", "main")
    (world.path / ".gitignore").write_text(".state\n")
    drop(world)
    git("add", "-A")
    git("commit", "-qm", "old")
    world.take("curator")
    world.done("curator", DROPPED)
    git("add", "-A")
    git("commit", "-qm", "new")

    git("checkout", "-q", "HEAD~1")
    assert world.files() == [f"inbox/{DROPPED}.yaml"]
    settled = world.reconcile()

    assert (settled.aside, settled.accepted) == ([], [])
    assert world.files() == [f"done/{DROPPED}.yaml"]
    world.consistent()


@pytest.mark.parametrize("tracked", [False, True])
def test_an_edit_can_be_undone_by_hand(world, tracked):
    drop(world)
    if tracked:
        git(world, "init", "-q")
        commit(world)
        world.reconcile()
    path = f"inbox/{DROPPED}.yaml"
    before = world.read(path)
    world.sh(f"sed -i 's/green/blue/' {path}")
    world.reconcile()
    assert "color: blue" in world.row(DROPPED).text

    world.sh(f"sed -i 's/blue/green/' {path}")
    world.reconcile()

    assert world.read(path) == before == world.row(DROPPED).text
    world.consistent()


def test_an_older_text_from_another_branch_undoes_no_edit(world):
    drop(world)
    git(world, "init", "-q")
    commit(world)
    git(world, "branch", "older")
    world.sh(f"sed -i 's/green/blue/' inbox/{DROPPED}.yaml")
    world.reconcile()
    commit(world)
    world.reconcile()

    git(world, "checkout", "-q", "older")
    assert "color: green" in world.read(f"inbox/{DROPPED}.yaml")
    world.reconcile()

    assert "color: blue" in world.read(f"inbox/{DROPPED}.yaml")
    assert "color: blue" in world.row(DROPPED).text


def git(world, *arguments):
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run(["git", "-C", str(world.path), *who, *arguments], check=True)


def commit(world):
    git(world, "add", "work")
    git(world, "commit", "-q", "-m", "board")


@pytest.mark.parametrize("reads", [True, False])
def test_a_new_task_can_be_renamed_by_hand(world, reads):
    world.write("inbox/audit.yaml", "title: Audit\nagent: curator\n")
    with world.board.command(HUMAN, reads=reads):
        pass
    world.sh(f"mv inbox/audit.yaml inbox/{DROPPED}.yaml")

    for _ in range(2):  # a read changes no file
        before = world.files()
        with world.board.command(HUMAN, reads=True) as report:
            assert not report.missing
        assert world.files() == before
    assert codes(world.reconcile()) == {}

    assert (world.row("audit").task.status, world.row(DROPPED).task.status) == ("cancelled", "new")
    assert world.row("audit").task.reason == f"renamed to {DROPPED}"
    assert f"id: {DROPPED}\n" in world.read(f"inbox/{DROPPED}.yaml")
    assert "status: cancelled" in world.read("done/audit.yaml")


def test_a_task_that_another_needs_keeps_its_name(world):
    drop(world)
    world.write("inbox/later.yaml", f"title: Later\ndependencies: [{DROPPED}]\n")
    world.reconcile()
    world.sh(f"mv inbox/{DROPPED}.yaml inbox/other.yaml")

    world.reconcile()

    assert world.row(DROPPED).task.status == "new"
    assert world.read(f"inbox/{DROPPED}.yaml")


def test_a_touch_changes_nothing(world):
    drop(world)
    before = world.tasks.head()

    world.sh(f"touch inbox/{DROPPED}.yaml")

    settled = world.reconcile()
    assert (settled.accepted, settled.pulled, world.tasks.head()) == ([], 0, before)


# -- invalid edits


def test_a_move_that_contradicts_the_status_is_set_aside_until_undone(world):
    drop(world)
    world.sh(f"mv inbox/{DROPPED}.yaml done/")

    assert codes(world.reconcile()) == {f"done/{DROPPED}": "TASK_MISMATCH"}
    assert world.files() == [f"done/{DROPPED}.yaml"]
    world.sh(f"mv done/{DROPPED}.yaml inbox/")
    assert codes(world.reconcile()) == {}
    world.consistent()


def test_a_refused_move_creates_no_second_file_when_another_task_is_accepted(world):
    assigned(world)
    world.sh(f"mv assigned/curator/{DROPPED}.yaml done/")
    world.write("inbox/other.yaml", task("other"))

    assert codes(world.reconcile()) == {f"done/{DROPPED}": "TASK_MISMATCH"}

    assert world.files() == [f"done/{DROPPED}.yaml", "inbox/other.yaml"]
    assert codes(world.reconcile()) == {f"done/{DROPPED}": "TASK_MISMATCH"}


def test_a_command_works_on_a_task_with_a_damaged_file_and_saves_that_text(world):
    drop(world)
    world.sh(f"echo '}}{{ my only notes' >> inbox/{DROPPED}.yaml")
    assert codes(world.reconcile()) == {f"inbox/{DROPPED}": "YAML_SYNTAX"}

    with world.board.command(HUMAN, makes=True):
        world.tasks.reassign(HUMAN, DROPPED, to="writer")
    settled = world.reconcile()

    assert codes(settled) == {}
    kept = os.listdir(world.path / "work/collaboration/set-aside")
    assert "my only notes" in world.read(f"collaboration/set-aside/{kept[0]}")
    world.consistent()


SPOILED = f"assigned/curator/{DROPPED}.yaml"


@pytest.mark.parametrize("harm", ["echo 'a: [b' >>", "ln -sf /etc/hostname", "chmod 000"])
def test_a_task_with_a_damaged_file_is_unavailable_until_it_is_fixed(world, harm):
    assigned(world)
    good = world.read(SPOILED)
    world.sh(f"{harm} {SPOILED}")

    assert not isinstance(world.take("curator"), TakenTask)
    with (
        world.board.command(HUMAN, makes=True),
        pytest.raises(BadInput, match="is set aside") as refused,
    ):
        world.tasks.start(HUMAN, DROPPED)
    assert refused.value.code == "TASK_ASIDE"
    shown = world.tasks.show(None, DROPPED)
    assert (shown.state, shown.ready) == ("blocked", False)
    assert SPOILED in shown.why[0]

    world.sh(f"rm -f {SPOILED}")
    world.write(SPOILED, good)
    assert isinstance(world.take("curator"), TakenTask)
    world.consistent()


def test_a_task_is_available_again_after_its_damaged_file_is_deleted(world):
    assigned(world)
    world.sh(f"echo 'a: [b' >> {SPOILED}")
    world.reconcile()
    world.sh(f"rm {SPOILED}")

    assert isinstance(world.take("curator"), TakenTask)
    world.consistent()


def test_a_task_with_a_damaged_file_on_one_machine_is_unavailable_on_all(world, tmp_path):
    assigned(world)
    other = world.elsewhere(tmp_path / "other")
    world.sh(f"echo 'a: [b' >> {SPOILED}")
    world.reconcile()

    assert not isinstance(other.take("curator"), TakenTask)
    assert SPOILED in other.tasks.show(None, DROPPED).why[0]

    world.sh(f"sed -i '$d' {SPOILED}")
    world.reconcile()
    assert isinstance(other.take("curator"), TakenTask)


def test_anything_but_a_regular_file_is_set_aside(world, tmp_path):
    inbox = world.path / "work/inbox"
    (tmp_path / "secret").write_text("title: stolen\n")
    (inbox / "link.yaml").symlink_to(tmp_path / "secret")
    os.mkfifo(inbox / "fifo.yaml")
    (inbox / "folder.yaml").mkdir()
    world.write("inbox/closed.yaml", "title: x\n")
    (inbox / "closed.yaml").chmod(0)
    os.link(tmp_path / "secret", inbox / "hard.yaml")

    found = codes(world.reconcile())

    names = ("link", "fifo", "folder", "closed", "hard")
    assert found == {f"inbox/{name}": "TASK_KIND" for name in names}
    assert world.tasks.versions() == {}


def test_a_task_file_replaced_by_a_link_is_not_followed(world, tmp_path):
    drop(world)
    (tmp_path / "precious").write_text("keep me\n")
    world.sh(f"rm inbox/{DROPPED}.yaml && ln -s {tmp_path}/precious inbox/{DROPPED}.yaml")

    assert codes(world.reconcile()) == {f"inbox/{DROPPED}": "TASK_KIND"}
    with world.board.command(HUMAN, makes=True):
        world.tasks.reassign(HUMAN, DROPPED, to="writer")
    world.reconcile()

    assert (tmp_path / "precious").read_text() == "keep me\n"


def test_a_move_to_another_device_is_refused_and_the_file_stays(world):
    drop(world)

    class TwoDevices(Disk):
        def rename(self, folder, name, target, new):
            if folder != target:
                raise OSError(errno.EXDEV, "Invalid cross-device link", name)
            super().rename(folder, name, target, new)

    world.open(TwoDevices())
    world.take("curator")
    with world.board.command(HUMAN, makes=True) as settled:
        assert codes(settled) == {f"inbox/{DROPPED}": "TASK_KIND"}

    assert world.files() == [f"inbox/{DROPPED}.yaml"]
    world.reconcile()
    world.consistent()


def test_a_half_written_file_waits_and_is_reported_after_a_minute(world):
    world.write("inbox/t1.yaml", "title: not yet do")

    assert codes(world.reconcile()) == {}
    assert world.tasks.versions() == {}
    world.later = 61.0
    assert codes(world.reconcile()) == {"inbox/t1": "TASK_PARTIAL"}

    world.sh("echo 'ne' >> inbox/t1.yaml")
    assert codes(world.reconcile()) == {}
    assert world.row("t1").task.title == "not yet done"


def test_a_temporary_file_becomes_a_task_only_when_renamed(world):
    world.write("inbox/t1.yaml.tmp", "title: x\n")
    assert world.reconcile().accepted == []

    world.sh("mv inbox/t1.yaml.tmp inbox/t1.yaml")

    assert [v.id for v in world.reconcile().accepted] == ["t1"]


# -- doctor


def test_a_consistent_board_passes_the_check(world):
    drop(world)

    (finding,) = check(world.board)

    assert finding.level == Level.OK


def test_the_check_finds_problems_and_changes_nothing(world):
    for id_ in ("gone", "edited", "moved", "twice"):
        drop(world, id_)
    world.write("done/twice.yaml", task("twice"))
    world.sh("rm inbox/gone.yaml; echo 'taste: x' >> inbox/edited.yaml; mv inbox/moved.yaml done/")
    world.write("inbox/new.yaml", "title: x\n")
    world.write("inbox/-bad.yaml", "title: x\n")
    world.write("inbox/.dibs-1.tmp", "half")
    world.later = 61.0
    before = world.files()

    found = {finding.what for finding in check(world.board)}

    expected = {
        "MISSING",
        "DRIFT",
        "MISPLACED",
        "TASK_DUPLICATE",
        "ORPHAN",
        "TASK_NAME",
        "TASK_PARTIAL",
    }
    assert found == expected
    assert world.files() == before


@pytest.mark.parametrize("place", ["assigned", "archive", "logs", "collaboration", "schemas"])
def test_the_check_reports_a_board_folder_that_is_a_link(world, tmp_path, place):
    world.sh(f"rm -r {place} && ln -s {tmp_path} {place}")

    found = check(world.board)

    assert [(f.level, f.what) for f in found] == [(Level.BAD, "TASK_KIND")]
    assert place in found[0].text


def test_repair_reports_what_it_did_and_leaves_a_consistent_board(world):
    for id_ in ("gone", "edited"):
        drop(world, id_)
    world.sh("rm inbox/gone.yaml; echo 'taste: x' >> inbox/edited.yaml")
    world.write("inbox/.dibs-1.tmp", "half")
    world.later = 61.0

    done = repair(world.board, HUMAN)

    assert done == [
        "accepted inbox/edited",
        "restored inbox/gone.yaml",
        "wrote or moved 1 task file",
    ]
    assert [finding.level for finding in check(world.board)] == [Level.OK]
    world.consistent()
