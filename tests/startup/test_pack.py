"""A hook's modules in one file: loaded quickly, and always those on disk."""

from __future__ import annotations

import ast
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from scripts.hook_modules import plain_modules
from tests.guard.hooking import PACKAGE, call, command, environment, hook, project, refused

from dibs.guard.agents.modules import ALONE, PLAIN

#: Each of these takes longer to load than a claim.
HEAVY = {
    "json", "re", "enum", "functools", "collections", "signal", "typing", "shlex", "bisect", "random",
    "hashlib", "subprocess", "tomllib", "pathlib", "site", "threading", "socket", "contextlib",
    "dataclasses", "argparse",
}  # fmt: skip


@pytest.fixture
def package(tmp_path):
    """A separate installation of Dibs."""
    place = tmp_path / "lib" / "site-packages" / "dibs"
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("hooks.*.pack*"))
    return place


@pytest.fixture
def repo(tmp_path):
    return project(tmp_path / "repo")


def pack_of(package):
    (found,) = (package / "guard" / "__pycache__").glob("hooks.*.pack")
    return found


def loaded_by(repo, package):
    """Return the names of all modules that a hook loads besides the pack's list."""
    words = command(package)
    environ = {name: value for name, value in environment().items() if not name.startswith("DIBS_")}
    told = subprocess.run(
        [*words[:1], "-X", "importtime", *words[1:]],
        input=call(repo, "free.py", "s1"), cwd=repo, env=environ, capture_output=True, check=True,
    )  # fmt: skip
    return {line.rpartition("|")[2].strip() for line in told.stderr.decode().splitlines()}


def shell_call(repo, text):
    told = json.loads(call(repo, "", "s1", "Bash"))
    return json.dumps({**told, "tool_input": {"command": text}}).encode()


def test_the_list_contains_what_an_edit_of_an_own_file_loads():
    """If this fails because modules moved, run scripts/hook_modules.py."""
    assert plain_modules() == PLAIN


@pytest.mark.parametrize(
    "first", ["an edit", "a refusal", "a shell command", "a call of another tool"]
)
def test_a_plain_call_loads_the_same_modules_whatever_the_first_call_was(repo, package, first):
    os.utime(repo / "dibs.toml", (0, 0))  # settings are cached once the file is some seconds old
    given = {
        "an edit": call(repo, "free.py", "s1"),
        "a refusal": call(repo, "held.py", "s1"),
        "a shell command": shell_call(repo, "echo x | tee free.py; ls"),
        "a call of another tool": call(repo, "free.py", "s1", "Read"),
    }[first]
    hook(repo, given, package)
    for _ in range(2):
        assert not refused(hook(repo, call(repo, "free.py", "s1"), package))

    loaded = loaded_by(repo, package)

    assert "apsw" in loaded
    assert loaded & HEAVY == set()
    assert {name for name in loaded if name.startswith("dibs")} == set()


def test_a_call_whose_modules_are_all_in_the_file_does_not_rewrite_it(repo, package):
    given = [
        call(repo, "free.py", "s1"),
        call(repo, "held.py", "s1"),
        shell_call(repo, "echo x > b.py"),
    ]
    for one in given * 2:
        hook(repo, one, package)
    before = pack_of(package).stat()

    for one in given:
        hook(repo, one, package)

    assert pack_of(package).stat().st_ino == before.st_ino


def test_an_incomplete_file_is_rewritten(repo, package):
    for _ in range(2):
        assert refused(hook(repo, call(repo, "held.py", "s1"), package))
    pack = pack_of(package)
    whole = pack.read_bytes()
    pack.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2))

    for _ in range(2):
        assert refused(hook(repo, call(repo, "held.py", "s1"), package))

    assert b"\0" * 4096 not in pack_of(package).read_bytes()


def test_an_outdated_list_costs_time_but_answers(repo, package):
    source = package / "guard" / "agents" / "modules.py"
    text = source.read_text()
    lines = [line for line in text.splitlines() if line.startswith('    "dibs.local.processes"')]
    assert lines, "choose a module that others import"
    last = text.index(")", text.index("PLAIN = ("))
    listed = text[:last].replace(f"{lines[0]}\n", "") + f"{lines[0]}\n" + text[last:]
    source.write_text(listed)

    for _ in range(3):
        assert refused(hook(repo, call(repo, "held.py", "s1"), package))
        assert not refused(hook(repo, call(repo, "free.py", "s1"), package))


def test_a_changed_module_is_not_loaded_from_the_file(repo, package):
    for _ in range(2):
        assert refused(hook(repo, call(repo, "held.py", "s1"), package))
    source = package / "core" / "toolcalls" / "messages.py"
    text = source.read_text()
    assert "Dibs blocked this" in text
    source.write_text(text.replace("Dibs blocked this", "That will not be"))

    said = [hook(repo, call(repo, "held.py", "s1"), package).stdout for _ in range(2)]

    assert all(b"That will not be" in one for one in said)


def test_a_copy_of_the_package_runs_its_own_modules(repo, package, tmp_path):
    for _ in range(2):
        assert refused(hook(repo, call(repo, "held.py", "s1"), package))
    copy = shutil.copytree(package, tmp_path / "copy" / "site-packages" / "dibs")
    source = copy / "core" / "toolcalls" / "messages.py"
    source.write_text(source.read_text().replace("Dibs blocked this", "That will not be"))

    said = [hook(repo, call(repo, "held.py", "s1"), copy).stdout for _ in range(2)]

    assert all(b"That will not be" in one for one in said)


@pytest.mark.parametrize(
    "folder",
    [".", "guard", "startup", "core/text", "engines/sqlite", "guard/dialects"],
)
def test_a_changed_package_does_not_affect_its_modules(repo, package, folder):
    for _ in range(2):
        assert not refused(hook(repo, call(repo, "free.py", "s1"), package))
    source = package / folder / "__init__.py"
    source.write_text(f"{source.read_text()}\nCHANGED = True\n")

    said = [hook(repo, call(repo, "free.py", "s1"), package) for _ in range(2)]

    assert [(one.returncode, one.stdout, one.stderr) for one in said] == [(0, b"", b"")] * 2


@pytest.mark.parametrize(
    "module", ["startup/pack.py", "guard/agents/program.py", "project/project.py"]
)
def test_a_broken_hook_blocks(repo, package, module):
    (package / module).write_text("this is not Python")

    said = hook(repo, call(repo, "free.py", "s1"), package)

    assert (said.returncode, said.stdout) == (2, b"")
    assert said.stderr.startswith(b"dibs: blocked because ")


@pytest.mark.parametrize(
    ("module", "change"),
    [
        (
            "startup/pack.py",
            ("def install(self) -> None:", "def install(self) -> None:\n        1 / 0"),
        ),
        ("guard/agents/start.py", ("status = attend(", "status = 2 or attend(")),
    ],
)
def test_the_first_modules_are_ignored_if_their_sources_changed(repo, package, module, change):
    for _ in range(2):
        hook(repo, call(repo, "free.py", "s1"), package)
    source = package / module
    source.write_text(source.read_text().replace(*change))

    assert hook(repo, call(repo, "free.py", "s1"), package).returncode == 2


@pytest.mark.parametrize("harm", ["empty", "short", "other python", "rubbish", "no folder"])
def test_a_damaged_file_only_costs_time(repo, package, harm):
    hook(repo, call(repo, "free.py", "s1"), package)
    pack = pack_of(package)
    content = pack.read_bytes()
    if harm == "no folder":
        shutil.rmtree(pack.parent)
        pack.parent.write_bytes(b"")  # not writable, not even for root
    else:
        new = {
            "empty": b"",
            "short": content[: len(content) // 2],
            "other python": b"\0\0\r\n" + content[4:],
            "rubbish": content[:16] + b"x" * 5000,
        }
        pack.write_bytes(new[harm])

    for _ in range(2):
        assert refused(hook(repo, call(repo, "held.py", "s1"), package))
        assert not refused(hook(repo, call(repo, "free.py", "s1"), package))
    if harm != "no folder":
        assert len(pack_of(package).read_bytes()) > 100_000


def test_if_the_file_cannot_be_written_nothing_is_compiled_for_it(repo, package):
    folder = package / "guard" / "__pycache__"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_bytes(b"")

    loaded = loaded_by(repo, package)

    assert loaded & {"dibs.startup.pack_write", "ast"} == set()


def test_a_broken_package_blocks(repo, package):
    (package / "guard" / "agents" / "program.py").write_text("raise RuntimeError('half installed')")

    said = hook(repo, call(repo, "free.py", "s1"), package)

    assert said.returncode == 2
    assert (
        said.stderr
        == b"dibs: blocked because the claim check failed: RuntimeError: half installed\n"
    )


def test_hooks_that_write_the_file_concurrently_all_answer(repo, package):
    running = [
        subprocess.Popen(
            command(package), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=repo, env=environment()
        )
        for _ in range(8)
    ]  # fmt: skip
    said = [
        process.communicate(call(repo, "held.py", f"s{n}"))[0] for n, process in enumerate(running)
    ]

    # On a very busy machine the hook may time out, which also blocks.
    codes = [process.returncode for process in running]
    assert all(b'"deny"' in one or code == 2 for one, code in zip(said, codes, strict=True))
    assert set(codes) <= {0, 2}
    left = [path.name for path in pack_of(package).parent.glob("hooks.*")]
    assert len(left) == 1


def test_an_installed_package_finds_modules_elsewhere(repo, package):
    """``apsw`` is not next to this copy, so Python's own package search is needed."""
    said = hook(repo, call(repo, "held.py", "s1"), package)

    assert refused(said)
    assert sys.prefix not in str(package)


def names_in(nodes):
    """Return the modules that these import, except for type checking."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif not (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"):
            found |= names_in(ast.iter_child_nodes(node))
    return found


def parsed(module):
    return ast.parse((PACKAGE.parent / f"{module.replace('.', '/')}.py").read_text()).body


def test_the_startup_package_imports_no_other_dibs_module():
    for path in (PACKAGE / "startup").glob("*.py"):
        ours = {n for n in names_in(parsed(f"dibs.startup.{path.stem}")) if n.startswith("dibs")}
        assert {name for name in ours if not name.startswith("dibs.startup.")} == set(), path


@pytest.mark.parametrize("module", ["dibs.guard.run", "dibs.startup.pack", *ALONE])
def test_a_module_that_runs_alone_imports_neither_os_nor_dibs_at_module_level(module):
    at_once = [node for node in parsed(module) if isinstance(node, ast.ImportFrom | ast.Import)]

    assert {name for name in names_in(at_once) if name == "os" or name.startswith("dibs")} == set()


def test_a_changed_client_of_the_server_does_not_break_hooks_and_is_packed_again(repo, package):
    folder = Path(tempfile.mkdtemp(prefix="dibs", dir="/tmp"))  # socket paths must be short
    (folder / "dibs").mkdir(mode=0o700)
    around = {"XDG_RUNTIME_DIR": str(folder)}
    hook(repo, call(repo, "free.py", "s1"), package, **around)
    client = package / "guard" / "agents" / "client.py"
    client.write_text(client.read_text() + "# changed\n")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import dibs.guard.agents.start as s"
    told = subprocess.run(
        [sys.executable, "-c", f"{code}; print(s.socket_of(sys.argv[2]))", package.parent, package],
        env=environment(**around), capture_output=True, check=True, text=True,
    )  # fmt: skip
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(told.stdout.strip())
        before = pack_of(package).stat().st_mtime_ns

        written = [before]
        for _ in range(4):  # a few calls, until all modules are in it
            assert refused(hook(repo, call(repo, "held.py", "s1"), package, **around))
            written.append(pack_of(package).stat().st_mtime_ns)

    shutil.rmtree(folder)
    assert written[0] != written[1]
    assert written[-1] == written[-2]
