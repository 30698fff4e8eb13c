"""Shell agents and people with editors: what they do to the files word for word, and what comes of it."""

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
    world.settle()
    return world


def codes(settled):
    return {f"{v.place}/{v.id}": v.code for v in settled.aside}


DROPPED = "2025-11-23T1430-curator-audit"


def drop(world, id_=DROPPED):
    """As the document says: create a YAML file in ``work/inbox``."""
    world.write(f"inbox/{id_}.yaml", task(id_))
    return world.settle()


def assigned(world, id_=DROPPED):
    drop(world, id_)
    with world.board.command(HUMAN, makes=True):
        world.tasks.assign(HUMAN, spread=False)
    assert world.row(id_).place == "assigned/curator"


# -- the document's procedures


def test_the_curators_procedure_works_with_an_editor_and_mv_alone(world):
    assigned(world)
    path = f"assigned/curator/{DROPPED}.yaml"
    assert "status: assigned" in world.read(path)

    world.sh(f"sed -i 's/^status: assigned/status: in_progress/' {path}")
    world.sh(f"echo \"started_at: '$(date -u +%Y-%m-%dT%H:%M:%SZ)'\" >> {path}")
    assert codes(world.settle()) == {}
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
    assert codes(world.settle()) == {}

    row = world.row(DROPPED)
    assert (row.task.status, row.task.summary, row.place) == ("done", "Audited", "done")
    assert "colour: green" in world.read(f"done/{DROPPED}.yaml")
    assert "# for the release" in world.read(f"done/{DROPPED}.yaml")
    world.consistent()


def test_an_error_that_is_written_by_hand_stays_with_its_agent(world):
    assigned(world)
    path = f"assigned/curator/{DROPPED}.yaml"

    world.sh(f"""
        sed -i 's/^status: assigned/status: error/' {path}
        printf 'error:\\n  message: no such file\\n  timestamp: "%s"\\n  agent: curator\\n' \
            "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >> {path}
    """)

    assert codes(world.settle()) == {}
    assert world.row(DROPPED).task.error == "no such file"
    world.consistent()


def test_a_dropped_file_gets_what_it_lacks_and_keeps_what_it_has(world):
    world.write("inbox/mine.yaml", "# a note\ntitle: Mine\ncolour: green\n")

    (verdict,) = world.settle().accepted

    assert verdict.id == "mine"
    text = world.read("inbox/mine.yaml")
    assert text.startswith("# a note\ntitle: Mine\ncolour: green\n") or "# a note" in text
    assert "status: new" in text
    assert "created_at" in text
    world.consistent()


def test_many_dropped_files_are_one_transaction(world):
    before = world.tasks.head()
    for n in range(120):
        world.write(f"inbox/t{n}.yaml", f"title: number {n}\n")

    assert len(world.settle().accepted) == 120
    assert world.tasks.head() > before
    world.consistent()


# -- the ways in which tools write


def test_an_editor_that_writes_a_new_file_and_renames_it(world):
    drop(world)
    path = f"inbox/{DROPPED}.yaml"
    world.sh(f"sed 's/green/blue/' {path} > inbox/4913~ && mv inbox/4913~ {path}")

    assert codes(world.settle()) == {}
    assert "colour: blue" in world.row(DROPPED).text


def test_an_editor_that_writes_in_place(world):
    drop(world)
    text = world.read(f"inbox/{DROPPED}.yaml")
    world.write(f"inbox/{DROPPED}.yaml", text.replace("green", "black"))

    world.settle()

    assert "colour: black" in world.row(DROPPED).text
    world.consistent()


def test_a_copy_with_a_removal_behind_it_is_a_move(world):
    """The document's own scripts write the new file and then unlink the old one."""
    assigned(world)
    old, new = f"assigned/curator/{DROPPED}.yaml", f"done/{DROPPED}.yaml"
    world.sh(f"sed 's/^status: .*/status: cancelled/' {old} > {new}")
    assert codes(world.settle()) == {f"done/{DROPPED}": "TASK_DUPLICATE"}

    world.sh(f"rm {old}")

    assert codes(world.settle()) == {}
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
    settled = world.settle()

    assert (settled.aside, settled.accepted) == ([], [])
    assert world.files() == [f"done/{DROPPED}.yaml"]
    world.consistent()


@pytest.mark.parametrize("tracked", [False, True])
def test_an_edit_that_a_hand_takes_back_is_taken_back(world, tracked):
    drop(world)
    if tracked:
        git(world, "init", "-q")
        commit(world)
        world.settle()
    path = f"inbox/{DROPPED}.yaml"
    before = world.read(path)
    world.sh(f"sed -i 's/green/blue/' {path}")
    world.settle()
    assert "colour: blue" in world.row(DROPPED).text

    world.sh(f"sed -i 's/blue/green/' {path}")
    world.settle()

    assert world.read(path) == before == world.row(DROPPED).text
    world.consistent()


def test_an_older_text_that_comes_with_another_branch_takes_no_edit_back(world):
    drop(world)
    git(world, "init", "-q")
    commit(world)
    git(world, "branch", "older")
    world.sh(f"sed -i 's/green/blue/' inbox/{DROPPED}.yaml")
    world.settle()
    commit(world)
    world.settle()

    git(world, "checkout", "-q", "older")
    assert "colour: green" in world.read(f"inbox/{DROPPED}.yaml")
    world.settle()

    assert "colour: blue" in world.read(f"inbox/{DROPPED}.yaml")
    assert "colour: blue" in world.row(DROPPED).text


def git(world, *arguments):
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run(["git", "-C", str(world.path), *who, *arguments], check=True)


def commit(world):
    git(world, "add", "work")
    git(world, "commit", "-q", "-m", "board")


def test_a_touch_changes_nothing(world):
    drop(world)
    before = world.tasks.head()

    world.sh(f"touch inbox/{DROPPED}.yaml")

    settled = world.settle()
    assert (settled.accepted, settled.pulled, world.tasks.head()) == ([], 0, before)


# -- what cannot be meant


def test_a_file_whose_id_is_not_its_name_stands_aside(world):
    world.write("inbox/other.yaml", task("t1"))

    assert codes(world.settle()) == {"inbox/other": "TASK_MISMATCH"}
    assert world.row("other") is None


def test_a_file_in_done_that_says_new_stands_aside_and_is_not_handed_out(world):
    world.write("done/t1.yaml", task("t1"))

    assert codes(world.settle()) == {"done/t1": "TASK_MISMATCH"}
    assert world.tasks.all(None, finished=True) == []


def test_a_file_in_the_folder_of_another_agent_stands_aside(world):
    world.write("assigned/editor/t1.yaml", task("t1").replace("new", "assigned"))

    assert codes(world.settle()) == {"assigned/editor/t1": "TASK_MISMATCH"}


def test_a_move_that_the_status_does_not_bear_out_stands_aside_until_it_is_undone(world):
    drop(world)
    world.sh(f"mv inbox/{DROPPED}.yaml done/")

    assert codes(world.settle()) == {f"done/{DROPPED}": "TASK_MISMATCH"}
    assert world.files() == [f"done/{DROPPED}.yaml"]
    world.sh(f"mv done/{DROPPED}.yaml inbox/")
    assert codes(world.settle()) == {}
    world.consistent()


def test_a_refused_move_brings_no_second_file_while_another_task_is_taken_in(world):
    assigned(world)
    world.sh(f"mv assigned/curator/{DROPPED}.yaml done/")
    world.write("inbox/other.yaml", task("other"))

    assert codes(world.settle()) == {f"done/{DROPPED}": "TASK_MISMATCH"}

    assert world.files() == [f"done/{DROPPED}.yaml", "inbox/other.yaml"]
    assert codes(world.settle()) == {f"done/{DROPPED}": "TASK_MISMATCH"}


def test_a_done_task_is_not_taken_back_by_hand(world):
    drop(world)
    world.take("curator")
    world.done("curator", DROPPED)
    path = f"done/{DROPPED}.yaml"
    world.sh(f"sed -i 's/^status: done/status: assigned/' {path} && mv {path} assigned/curator/")

    assert codes(world.settle()) == {f"assigned/curator/{DROPPED}": "TASK_TRANSITION"}
    assert "dibs task reopen" in world.read("collaboration/SET_ASIDE.md")
    assert world.row(DROPPED).task.status == "done"


def test_a_command_goes_on_although_the_file_was_spoiled_and_the_spoiled_text_is_kept(world):
    drop(world)
    world.sh(f"echo '}}{{ my only notes' >> inbox/{DROPPED}.yaml")
    assert codes(world.settle()) == {f"inbox/{DROPPED}": "YAML_SYNTAX"}

    with world.board.command(HUMAN, makes=True):
        world.tasks.reassign(HUMAN, DROPPED, to="writer")
    settled = world.settle()

    assert codes(settled) == {}
    kept = os.listdir(world.path / "work/collaboration/set-aside")
    assert "my only notes" in world.read(f"collaboration/set-aside/{kept[0]}")
    world.consistent()


SPOILED = f"assigned/curator/{DROPPED}.yaml"


@pytest.mark.parametrize("harm", ["echo 'a: [b' >>", "ln -sf /etc/hostname", "chmod 000"])
def test_a_task_whose_file_is_spoiled_is_handed_to_nobody_until_it_is_put_right(world, harm):
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


def test_a_task_whose_spoiled_file_is_removed_is_handed_out_again(world):
    assigned(world)
    world.sh(f"echo 'a: [b' >> {SPOILED}")
    world.settle()
    world.sh(f"rm {SPOILED}")

    assert isinstance(world.take("curator"), TakenTask)
    world.consistent()


def test_a_task_whose_spoiled_file_is_corrected_to_another_text_is_handed_out_again(world):
    assigned(world)
    world.sh(f"echo 'a: [b' >> {SPOILED}")
    world.settle()
    world.sh(f"sed -i 's/a: .b/a: b/' {SPOILED}")

    assert isinstance(world.take("curator"), TakenTask)
    assert "a: b" in world.read(SPOILED)


def test_a_task_whose_file_is_spoiled_on_one_machine_is_handed_out_on_none(world, tmp_path):
    assigned(world)
    other = world.elsewhere(tmp_path / "other")
    world.sh(f"echo 'a: [b' >> {SPOILED}")
    world.settle()

    assert not isinstance(other.take("curator"), TakenTask)
    assert SPOILED in other.tasks.show(None, DROPPED).why[0]

    world.sh(f"sed -i '$d' {SPOILED}")
    world.settle()
    assert isinstance(other.take("curator"), TakenTask)


def test_while_somebody_works_on_it_only_the_content_is_changed_by_hand(world):
    drop(world)
    world.take("curator")
    path = f"assigned/curator/{DROPPED}.yaml"

    world.sh(f"sed -i 's/green/blue/' {path}")
    assert codes(world.settle()) == {}
    world.sh(f"sed -i 's/^status: .*/status: cancelled/' {path}")
    assert set(codes(world.settle()).values()) == {"TASK_HELD"}


BAD_NAMES = ["-rf", "a;rm", ".", "con", "x" * 129, "a\nb", ".hidden"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_no_task_can_have_stands_aside(world, name):
    world.write(f"inbox/{name}.yaml", "title: x\n")

    settled = world.settle()

    assert [v.code for v in settled.aside] == ["TASK_NAME"]
    assert "\n`" not in world.read("collaboration/SET_ASIDE.md")
    assert world.tasks.versions() == {}


def test_what_is_no_plain_file_stands_aside(world, tmp_path):
    inbox = world.path / "work/inbox"
    (tmp_path / "secret").write_text("title: stolen\n")
    (inbox / "link.yaml").symlink_to(tmp_path / "secret")
    os.mkfifo(inbox / "fifo.yaml")
    (inbox / "folder.yaml").mkdir()
    world.write("inbox/closed.yaml", "title: x\n")
    (inbox / "closed.yaml").chmod(0)
    os.link(tmp_path / "secret", inbox / "hard.yaml")

    found = codes(world.settle())

    names = ("link", "fifo", "folder", "closed", "hard")
    assert found == {f"inbox/{name}": "TASK_KIND" for name in names}
    assert world.tasks.versions() == {}


def test_a_file_that_was_a_task_and_is_a_link_now_is_not_followed(world, tmp_path):
    drop(world)
    (tmp_path / "precious").write_text("keep me\n")
    world.sh(f"rm inbox/{DROPPED}.yaml && ln -s {tmp_path}/precious inbox/{DROPPED}.yaml")

    assert codes(world.settle()) == {f"inbox/{DROPPED}": "TASK_KIND"}
    with world.board.command(HUMAN, makes=True):
        world.tasks.reassign(HUMAN, DROPPED, to="writer")
    world.settle()

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
    world.settle()
    world.consistent()


def test_a_half_written_file_waits_and_is_told_after_a_minute(world):
    world.write("inbox/t1.yaml", "title: not yet do")

    assert codes(world.settle()) == {}
    assert world.tasks.versions() == {}
    world.later = 61.0
    assert codes(world.settle()) == {"inbox/t1": "TASK_PARTIAL"}

    world.sh("echo 'ne' >> inbox/t1.yaml")
    assert codes(world.settle()) == {}
    assert world.row("t1").task.title == "not yet done"


def test_a_temporary_name_is_no_task_until_it_is_renamed(world):
    world.write("inbox/t1.yaml.tmp", "title: x\n")
    assert world.settle().accepted == []

    world.sh("mv inbox/t1.yaml.tmp inbox/t1.yaml")

    assert [v.id for v in world.settle().accepted] == ["t1"]


# -- the first document's queue folder


def test_files_of_the_queue_folder_are_taken_over(world):
    folder = world.path / "tasks/pending"
    folder.mkdir(parents=True)
    (folder / "fix-login.yml").write_text("title: Fix the login\npriority: high\n")
    (folder / "notes.txt").write_text("not a task\n")

    (verdict,) = world.settle().accepted

    assert verdict.id == "fix-login"
    assert os.listdir(folder) == ["notes.txt"]
    assert world.files() == ["inbox/fix-login.yml"]
    world.consistent()


def test_a_file_of_the_queue_folder_whose_name_is_taken_stays(world):
    world.write("inbox/t1.yml", "title: first\n")
    folder = world.path / "tasks/pending"
    folder.mkdir(parents=True)
    (folder / "t1.yml").write_text("title: second\n")

    world.settle()

    assert (folder / "t1.yml").read_text() == "title: second\n"
    assert world.row("t1").task.title == "first"
    assert any(finding.what == "PENDING" for finding in check(world.board))


# -- doctor


def test_a_sound_board_is_called_sound(world):
    drop(world)

    (finding,) = check(world.board)

    assert finding.level == Level.OK


def test_the_check_finds_what_is_wrong_and_changes_nothing(world):
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
def test_the_check_tells_of_a_folder_of_the_board_that_is_a_link(world, tmp_path, place):
    world.sh(f"rm -r {place} && ln -s {tmp_path} {place}")

    found = check(world.board)

    assert [(f.level, f.what) for f in found] == [(Level.BAD, "TASK_KIND")]
    assert place in found[0].text


def test_repair_says_what_it_did_and_leaves_a_sound_board(world):
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


def test_agents_with_a_folder_are_known(world):
    world.sh("mkdir assigned/writer-editor")
    assert world.settle().agents == ["writer-editor"]
