"""Whether a human runs a command, decided from its processes and the sessions on the machine."""

from __future__ import annotations

import pytest

from dibs.local.noted_agents import NotedAgent
from dibs.local.people import ProcessContext, why_not_human
from dibs.local.processes import RunningProcess

HERE = "host/boot/1"
AGENT = NotedAgent("alice", 500, 1_000, HERE)
INIT = RunningProcess(1, 1, "systemd", 0)


def chain(*names: tuple[str, int], terminal: int = 34_816, end: RunningProcess = INIT) -> tuple:
    """Return processes from the command up, each with its start; the outermost is a child of init."""
    pids = range(2_000, 2_000 - len(names), -1)
    rows = [
        RunningProcess(pid, born, name, pid - 1, terminal=terminal)
        for pid, (name, born) in zip(pids, names, strict=True)
    ]
    return (*rows[:-1], rows[-1]._replace(above=end.pid), end)


def why(processes, clients=(), **more) -> str:
    scene = ProcessContext(processes, more.pop("agents", (AGENT,)), realm=HERE, **more)
    return why_not_human(scene, lambda _: clients)


@pytest.mark.parametrize(
    "processes",
    [
        chain(("dibs", 3_000), ("bash", 900)),
        chain(("dibs", 3_000), ("bash", 2_000), ("sshd", 2_000)),
        chain(("dibs", 3_000), ("bash", 2_000), ("gnome-terminal-", 2_000)),
        chain(("dibs", 3_000), ("bash", 2_000), ("code", 2_000)),
        # `docker exec` enters from outside, and the first process of a container has the same terminal
        (
            RunningProcess(9, 3_000, "dibs", 8, terminal=5),
            RunningProcess(8, 2_000, "bash", 0, terminal=5),
        ),
        (
            RunningProcess(9, 3_000, "dibs", 1, terminal=5),
            RunningProcess(1, 1, "bash", 0, terminal=5),
        ),
    ],
)
def test_a_terminal_that_no_agent_can_have_started_is_a_humans(processes):
    assert why(processes) == ""


@pytest.mark.parametrize(
    ("processes", "says"),
    [
        (chain(("dibs", 3_000), ("bash", 900), terminal=0), "there is no terminal"),
        (chain(("dibs", 3_000), ("script", 2_000)), "started after alice"),
        (chain(("dibs", 3_000), ("sh", 2_000), ("atd", 5)), "started after alice"),
        (
            chain(("dibs", 3_000), ("sh", 2_000), end=RunningProcess(77, 5, "systemd", 1)),
            "started after",
        ),
        (chain(("dibs", 3_000), ("bash", 2_500), ("tmux: server", 2_000)), "started after alice"),
        (chain(("dibs", 3_000), ("bash", 2_500), ("tmux: server", 10)), "started after alice"),
    ],
)
def test_a_process_that_an_agent_may_have_started_is_not_a_humans(processes, says):
    assert says in why(processes)


def test_below_tmux_an_attached_client_must_be_a_humans():
    pane = chain(("dibs", 3_000), ("bash", 2_500), ("tmux: server", 2_000))

    assert why(pane, [chain(("tmux: client", 2_000), ("bash", 2_000), ("sshd", 2_000))]) == ""
    assert why(pane, [chain(("tmux: client", 2_000), ("script", 2_000))])
    assert why(pane, [])


def test_an_agents_own_client_of_a_multiplexer_is_not_a_humans():
    pane = chain(("dibs", 3_000), ("bash", 2_500), ("tmux: server", 2_000))
    client = chain(("tmux: client", 2_000), ("script", 2_000), ("claude", 1_000), ("sshd", 900))
    agent = AGENT._replace(pid=client[2].pid)

    assert why(pane, [client], agents=(agent,))
    assert why(pane, [client]) == ""


def test_a_process_below_an_agent_of_any_project_is_not_a_humans():
    processes = chain(("dibs", 3_000), ("bash", 2_000), ("claude", 1_000), ("sshd", 900))

    assert "is alice" in why(processes, agents=(AGENT._replace(pid=processes[2].pid),))


def test_an_orphan_in_the_terminal_of_an_agent_is_not_a_humans():
    orphan = (
        RunningProcess(9, 3_000, "dibs", 1, terminal=5),
        RunningProcess(1, 1, "bash", 0, terminal=5),
    )

    assert "started after" in why(orphan, terminals=frozenset({5}))
    assert why(orphan, terminals=frozenset({6})) == ""


def test_entering_a_container_proves_nothing_while_an_agent_runs_outside_of_it():
    inside = (
        RunningProcess(9, 3_000, "dibs", 8, terminal=5),
        RunningProcess(8, 2_000, "bash", 0, terminal=5),
    )

    assert why(inside) == ""
    assert why(inside, agents=(AGENT._replace(realm="host/boot/2"),), space_born=500)


def test_an_agents_variable_above_the_command_shows_an_agent():
    processes = chain(("dibs", 3_000), ("bash", 900))

    assert "CLAUDECODE" in why(processes, markers={1_999: "CLAUDECODE"})


def test_without_a_running_session_everyone_without_a_name_is_a_human():
    assert why(chain(("dibs", 3_000), ("cron", 2_000), terminal=0), agents=()) == ""


def test_a_pid_namespace_that_is_newer_than_a_session_outside_of_it_is_not_a_humans():
    processes = chain(("dibs", 3_000), ("bash", 900))
    outside = (AGENT._replace(realm="host/boot/2"),)

    assert "PID namespace" in why(processes, agents=outside, space_born=2_000)
    assert why(processes, agents=outside, space_born=500) == ""
    assert why(processes, agents=(AGENT._replace(realm="other/boot/2"),), space_born=2_000) == ""


def test_a_login_from_this_machine_is_not_a_humans():
    assert "login" in why(chain(("dibs", 3_000), ("bash", 2_000), ("sshd", 5)), looped=True)


def test_where_processes_are_hidden_no_one_is_proven_to_be_a_human():
    assert "/proc" in why((), hidden=True)
    assert why(()) == ""  # a system without /proc
    assert why((), hidden=True, agents=()) == ""
