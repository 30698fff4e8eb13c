"""Which commands wait for someone to type."""

import pytest
from tests.guard.harmless import COMMANDS

from dibs.core.shell.interactive import waits_for_input

WAITING = {
    "bash": "bash",
    "bash --norc -i": "bash",
    "/bin/sh": "sh",
    "exec zsh -l": "zsh",
    "cd src && bash": "bash",
    "env -i A=1 bash": "bash",
    "bash -i script.sh": "bash",
    "bash -o pipefail": "bash",
    "bash --rcfile x": "bash",
    "bash > out.log": "bash",
    "sudo -i": "su",
    "python3": "python3",
    "python3 -iq": "python3",
    "python3 -i script.py": "python3",
    "A=1 python3.12 -q": "python3.12",
    "node": "node",
    "perl": "perl",
    "if true; then bash; fi": "bash",
    "vim src/a.py": "vim",
    "ed src/a.py": "ed",
    "script": "script",
    "make\nbash": "bash",
    "'bash'": "bash",
    "make&&bash": "bash",
    "bash 2>&1": "bash",
    "bash>log": "bash",
    "sudo timeout 5m bash": "bash",
    "(bash)": "bash",
    "rbash": "rbash",
    "bash # to look around": "bash",
    "echo `bash`": "bash",
}  # fmt: skip
READY = [
    "bash -c 'echo 1'", "bash -lc 'echo 1'", "bash -euo pipefail -c 'make'", "bash script.sh", "sh -x run.sh",
    "bash --version", "bash <<'EOF'\necho 1\nEOF", "bash < script", "bash -s <<< 'echo 1'", "curl x | bash",
    "echo 'print(1)' | python3 -", "python3 - <<'EOF'\nimport os\nbash\nEOF", "python3 -c 'print(1)'",
    "python3 -m pytest -q", "python3 --version", "python3 -V", "python3 a.py -i", "node -v", "node a.js",
    "perl -v",
    "perl -pi -e s/a/b/ f", "ruby -e 'p 1'", "git commit -m 'use bash'", "grep -rn bash src", "ls /bin/bash",
    "vim -es -c 'q' a", "echo \"it's\"", "echo 'open", "which python3", "make node", "time bash run.sh",
    "tmux ls",
    "npm init", "echo ';' bash", 'echo "a\nbash"', "bash ''", "", "printf x|sh",
    "#!/bin/sh\nmake", "cat <<X\nx\nX\nmake",
    "cat <<-X\nbash\nX", "bash run.sh 2>&1", "cat a | vim -", "sudo make install",
]  # fmt: skip


@pytest.mark.parametrize(("command", "program"), WAITING.items())
def test_a_shell_an_interpreter_and_an_editor_wait(command, program):
    assert waits_for_input(command) == program


@pytest.mark.parametrize("command", READY)
def test_a_command_with_its_input_does_not_wait(command):
    assert waits_for_input(command) == ""


@pytest.mark.parametrize("command", [line for line in COMMANDS.splitlines() if line.strip()])
def test_no_harmless_command_waits(command):
    assert waits_for_input(command) == ""
