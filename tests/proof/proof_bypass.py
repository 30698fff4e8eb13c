"""Every way in which an agent might write a file that another agent holds, and what happens.

The table in docs/explanation/enforcement.md is generated from these rows; a test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple

BEFORE, AFTER, GATE = "before", "after", "gate"
REFUSED, FOUND = "blocked", "detected and reported to both; old content saved"
MATRIX = ("<!-- matrix: begin -->", "<!-- matrix: end -->")


class Way(NamedTuple):
    """One way, and calls that use it: ``tool`` with its input, or a shell command.

    ``{root}``, ``{other}``, and ``{clone}`` are the working tree, another one, and another clone.
    """

    says: str
    happens: str
    where: str
    calls: tuple[tuple[str, dict[str, str]], ...] = ()
    commands: tuple[str, ...] = ()
    #: Where it is stopped, and in which dialect.
    cwd: str = "{root}"
    dialect: str = "claude"


def edit(path: str) -> tuple[str, dict[str, str]]:
    """Return the most common edit."""
    return "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}


PATCH = """*** Begin Patch
*** Update File: free.py
@@
-a
+b
*** Update File: src/a.py
@@
-a
+b
*** End Patch
"""

WAYS = (
    Way("edit tools on another agent's file", REFUSED, BEFORE, (
        edit("{root}/src/a.py"), ("Write", {"file_path": "{root}/src/a.py", "content": "x"}),
        ("MultiEdit", {"file_path": "{root}/src/a.py"}),
    )),
    Way("the same file in another worktree", REFUSED, BEFORE, (edit("{other}/src/a.py"),), cwd="{other}"),
    Way("the same file in another worktree, from this one", REFUSED, BEFORE,
        (edit("{other}/src/a.py"),), ("sed -i s/a/b/ {other}/src/a.py", "cd {other} && rm src/a.py")),
    Way("the same file in another clone, with a shared engine", REFUSED, BEFORE,
        (edit("{clone}/src/a.py"),), ("echo x > src/a.py",), cwd="{clone}"),
    Way("`apply_patch` with several files, one held by another agent", "all of it blocked", BEFORE,
        (("apply_patch", {"command": PATCH}),), dialect="codex"),
    Way("`apply_patch` in a shell", "all of it blocked", BEFORE, (), (f"apply_patch <<'E'\n{PATCH}E\n",)),
    Way("a notebook cell", REFUSED, BEFORE,
        (("NotebookEdit", {"notebook_path": "{root}/src/n.ipynb", "new_source": "x"}),)),
    Way("an MCP tool that names it: as an argument, in a list, a patch, a URI, a command, or by git",
        REFUSED, BEFORE, (
        ("mcp__files__write_file", {"path": "{root}/src/a.py", "content": "x"}),
        ("mcp__files__frobnicate", {"spec": '{"items": ["free.py", "src/a.py:3"]}'}),
        ("mcp__lsp__rename", {"uri": "file://{root}/src/a.py", "newName": "x"}),
        ("mcp__patches__apply", {"diff": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n"}),
        ("mcp__shell__run", {"command": "rm src/a.py"}),
        ("mcp__git__git_checkout", {"repo_path": "{root}", "branch_name": "older"}),
    )),
    Way("the same path spelled `a/../b`", REFUSED, BEFORE,
        (edit("{root}/src/../src/a.py"), edit("src//./a.py")), ("echo x > src/../src/a.py",)),
    Way("the same path in another case", REFUSED, BEFORE, (edit("{root}/SRC/A.py"),), ("rm SRC/A.PY",)),
    Way("a symbolic link to it", REFUSED, BEFORE, (edit("{root}/link.py"),), ("echo x > link.py",)),
    Way("a second session with the same name", "blocked: it is another agent", BEFORE,
        (edit("{root}/src/a.py"),)),
    Way("shell: `>`, `>>`, `tee`, `sed -i`, `perl -pi`, `dd`, `truncate`", REFUSED, BEFORE, (), (
        "echo x > src/a.py", "echo x >> src/a.py", "echo x | tee -a src/a.py", "sed -i s/a/b/ src/a.py",
        "perl -pi -e s/a/b/ src/a.py", "dd if=/dev/zero of=src/a.py count=1", "truncate -s0 src/a.py",
        "cd src && cat <<'E' > a.py\nx\nE\n", "for f in src/*.py; do sed -i s/a/b/ $f; done",
    )),
    Way("shell: `cp`, `mv`, `ln` over it, `rm`, `rm -rf` of its folder", REFUSED, BEFORE, (), (
        "cp free.py src/a.py", "mv free.py src/a.py", "ln -sf /etc/hosts src/a.py", "rm src/a.py",
        "rm -rf src", "mv src gone", "find . -name a.py -delete", "rm src/*", "bash -c 'rm src/a.py'",
    )),
    Way("shell: `python -c`, `node -e`, `perl -e` with the path in constants", REFUSED, BEFORE, (), (
        "python3 -c \"from pathlib import Path; (Path('src') / 'a.py').write_text('x')\"",
        "node -e \"const fs = require('fs'); fs.rmSync(require('path').join('src', 'a.py'))\"",
        "node -e \"require('fs').rmSync('src/' + 'a.py')\"",
        "python3 -c \"open('src/a.py', 'w').write('x')\"",
        "python3 - <<'E'\nfrom pathlib import Path\nPath('src/a.py').write_text('x')\nE\n",
        "node -e \"require('fs').writeFileSync('src/a.py', '')\"",
    )),
    Way("shell: `git checkout --`, `restore`, `stash`, `reset --hard`, `apply`", REFUSED, BEFORE, (), (
        "git checkout -- src/a.py", "git checkout .", "git checkout src/a.py", "git restore src/a.py",
        "git stash", "git reset --hard", "git checkout -f", "git rm -f src/a.py", "git mv src/a.py b.py",
        "git apply <<'E'\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\nE\n",
    )),
    Way("shell: `git apply`, `git am`, `patch`, `tar`, `unzip` with a file that names it", REFUSED, BEFORE,
        (), (
        "git apply fix.patch", "patch -p1 < fix.patch", "cat fix.patch | patch -p1", "git am < fix.patch",
        "tar xf pack.tar", "unzip -o pack.zip",
    )),
    Way("shell: names from `grep -l`, `find`, `ls`, `git ls-files`, or a list in a file", REFUSED, BEFORE,
        (), (
        "grep -rl half . | xargs sed -i s/a/b/", "for f in $(ls src/*.py); do sed -i s/a/b/ $f; done",
        'find src -type f | while read f; do rm "$f"; done', "git ls-files src | xargs rm",
        "xargs rm < list.txt", "rm $(cat list.txt)", "while read f; do rm $f; done < list.txt",
    )),
    Way("shell: switching to a commit in which it differs", REFUSED, BEFORE, (), (
        "git switch older", "git checkout older", "git merge side", "git cherry-pick side",
    )),
    Way("shell: moving HEAD in the same working tree: `switch`, `checkout`, `rebase`, `bisect`",
        REFUSED, BEFORE, (), (
        "git switch -c new", "git checkout -b new", "git switch side", "git checkout --detach",
        "git rebase side", "git pull --rebase", "git bisect start HEAD older", "git reset --hard HEAD~1",
        "git symbolic-ref HEAD refs/heads/side", "bash -c 'git switch -c new'", "gh pr checkout 1",
    )),
    Way("shell: formatters on its folder", REFUSED, BEFORE, (), (
        "black src", "ruff format .", "npx prettier --write src/a.py",
    )),
    Way("shell: `git commit` of it, with or without hooks", REFUSED, "before and gate", (), (
        "git commit -am x", "git add -A && git commit -m x", "git commit --no-verify -m x src/a.py",
        "git -c core.hooksPath=/dev/null commit -am x",
    )),
    Way("shell: a path that is known only at run time", FOUND, AFTER, (), (
        'F=$(echo src/a.py | rev | rev); echo x > "$F"', "python3 writer.py", 'sh -c "$(rev script | rev)"',
    )),
    Way("shell: git hidden in a script or variable", FOUND, AFTER, (), (
        "G=$(echo tig | rev); $G checkout -q -- src/a.py", "sh script2",
    )),
    Way("an MCP tool that does not name it, or whose name says that it only reads", FOUND, AFTER, (
        ("mcp__files__apply_last", {"id": "7"}),
        ("mcp__lint__check", {"paths": "src/a.py", "options": "fix"}),
    )),
    Way("shell: a program named like a reading command: `./test`, `bin/date`, a changed `PATH`", FOUND, AFTER,
        (), (
        "./test src/a.py", "bin/date src/a.py", "PATH=bin:$PATH date src/a.py",
    )),
    Way("shell: a script that changes it and commits the change", FOUND, AFTER, (), ("sh script3",)),
    Way("a hard link to it", FOUND, AFTER, (edit("{root}/hard.py"),), ("echo x >> hard.py",)),
    Way("plain `git commit`, even with `--no-verify`", "refused", GATE),
    Way("removing a landed commit from its branch: `reset`, `--amend`, `rebase`, `update-ref`, `push -f`",
        "refused", GATE),
    Way("detaching HEAD or rebasing, hidden in a script", "refused", GATE),
    Way("switching the branch, hidden in a script", "refused; reported before git 2.46", GATE),
    Way("`dibs commit` on another branch than the one on which the files were claimed", "refused", GATE),
)  # fmt: skip


def table() -> str:
    """Return the rows as they appear in the docs."""
    rows = [f"| {way.says} | {way.happens} | {way.where} |" for way in WAYS]
    return "\n".join(["| attempt | result | where |", "|---|---|---|", *rows])
