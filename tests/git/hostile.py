"""A repository in which every setting that can name a program names one that leaves a canary.

Each vector plants one way to run code. ``kind`` says what a command does about it: ``silent``, it works
without; ``refused``, it names the setting if that affects the result; ``broken``, it may fail.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "p4-changelist", "post-applypatch",
    "post-checkout", "post-commit", "post-index-change", "post-merge", "post-receive",
    "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit",
    "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg",
    "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate", "update",
)  # fmt: skip


class Hostile:
    """A repository with two branches and changed files, and the folder where canaries appear."""

    def __init__(self, root: Path, canaries: Path) -> None:
        self.root = root
        self.canaries = canaries
        self._name = ""
        canaries.mkdir()
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        for name in ("a.txt", "b.dat", "lost.txt", "src/x.py"):
            self.write(name, f"{name}\n" * 9)
        self.git("add", ".")
        self.git("commit", "-q", "-m", "one")
        self.git("branch", "other")
        self.git("checkout", "-q", "-b", "apart")
        self.write("c.txt", "apart\n")
        self.git("add", "c.txt")
        self.git("commit", "-q", "-m", "apart")
        self.git("checkout", "-q", "main")
        self.write("b.dat", "main\n" + "b.dat\n" * 9)
        self.git("commit", "-q", "-am", "two")
        self.git("checkout", "-q", "other")
        self.write("b.dat", "b.dat\n" * 9 + "other\n")
        self.git("commit", "-q", "-am", "three")
        self.git("checkout", "-q", "main")

    def git(self, *words: str, folder: Path | None = None, check: bool = True) -> str:
        """Run plain git, as the user would."""
        done = subprocess.run(
            ["git", *words], cwd=folder or self.root, check=check, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def called(self, name: str) -> None:
        """Set the name of the next canary."""
        self._name = name

    def plant(self, vector: Vector) -> None:
        self.called(vector.name)
        vector.plant(self)

    def touch(self) -> str:
        """Return a command that leaves the vector's canary and passes on its input."""
        return f"touch '{self.canaries}/{self._name}'"

    def script(self, *, quiet: bool = True) -> str:
        """Return a program that leaves the vector's canary."""
        path = self.canaries.parent / f"evil-{self._name}"
        path.write_text(f"#!/bin/sh\n{self.touch()}\n{'exit 1' if quiet else 'cat'}\n")
        path.chmod(0o755)
        return str(path)

    def config(self, key: str, value: str) -> None:
        self.git("config", "--add", key, value)

    def attribute(self, line: str) -> None:
        """Set an attribute of files, without a tracked file."""
        path = self.root / ".git" / "info" / "attributes"
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.write(line + "\n")

    def hooks(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in HOOKS:
            path = folder / name
            path.write_text(f"#!/bin/sh\n{self.touch()}\n")
            path.chmod(0o755)

    def silence(self) -> None:
        """Remove canaries from the setup."""
        for name in self.sung():
            (self.canaries / name).unlink()

    def sung(self) -> set[str]:
        """Return the names of vectors that ran."""
        return set(os.listdir(self.canaries))


class Vector(NamedTuple):
    name: str
    kind: str
    plant: Callable[[Hostile], None]
    #: The setting in the refusal.
    key: str = ""


def setting(key: str, *, script: bool = False) -> Callable[[Hostile], None]:
    def plant(repo: Hostile) -> None:
        repo.config(key, repo.script() if script else repo.touch())

    return plant


def _hooks_path(repo: Hostile) -> None:
    folder = repo.root / "planted-hooks"
    repo.hooks(folder)
    repo.config("core.hooksPath", "planted-hooks")
    with (repo.root / ".git/info/exclude").open("a") as file:
        file.write("/planted-hooks/\n")


def _filter(which: str) -> Callable[[Hostile], None]:
    def plant(repo: Hostile) -> None:
        repo.config(f"filter.{which}.{which}", f"{repo.touch()}; cat")
        repo.config(f"filter.{which}.required", "false" if which == "smudge" else "true")
        repo.attribute(f"*.dat filter={which}")
        repo.attribute(f"*.yaml filter={which}")

    return plant


def _diff(variable: str) -> Callable[[Hostile], None]:
    def plant(repo: Hostile) -> None:
        repo.config(f"diff.{variable}.{variable}", repo.script(quiet=False))
        repo.attribute(f"*.{'txt' if variable == 'command' else 'py'} diff={variable}")

    return plant


def _driver(repo: Hostile) -> None:
    repo.config("merge.evil.driver", repo.touch())
    repo.attribute("*.dat merge=evil")


def _default_driver(repo: Hostile) -> None:
    repo.config("merge.usual.driver", repo.touch())
    repo.config("merge.default", "usual")


def _signing(repo: Hostile) -> None:
    repo.config("gpg.program", repo.script())
    repo.config("commit.gpgSign", "true")
    repo.config("user.signingKey", "me")


def _ssh_signing(repo: Hostile) -> None:
    repo.config("gpg.ssh.defaultKeyCommand", repo.script())
    repo.config("gpg.format", "ssh")
    repo.config("commit.gpgSign", "true")


def _shown_signature(repo: Hostile) -> None:
    """Add a signature to the last commit, which `git log` would check."""
    repo.config("gpg.openpgp.program", repo.script())
    repo.config("log.showSignature", "true")
    raw = repo.git("cat-file", "commit", "HEAD")
    head, _, message = raw.partition("\n\n")
    mark = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    text = f"{head}\n{mark}\n\n{message}\n"
    done = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        input=text, cwd=repo.root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    repo.git("update-ref", "refs/heads/main", done.stdout.strip())


def _lose(repo: Hostile, url: str) -> None:
    """Delete blobs that a promisor remote should have, and that a diff and a merge need."""
    for name in ("HEAD:lost.txt", "HEAD~1:b.dat"):
        blob = repo.git("rev-parse", name)
        (repo.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    repo.write("lost.txt", "changed\n")  # otherwise git would recreate the object from the file
    repo.config("core.repositoryFormatVersion", "1")
    repo.config("extensions.partialClone", "far")
    repo.config("remote.far.url", url)
    repo.config("remote.far.promisor", "true")


def _far_ssh(repo: Hostile) -> None:
    _lose(repo, "ssh://localhost.invalid/x")
    repo.config("core.sshCommand", repo.touch())


def _far_upload_pack(repo: Hostile) -> None:
    _lose(repo, str(repo.root))
    repo.config("remote.far.uploadpack", repo.touch() + ";git-upload-pack")


def _far_ext(repo: Hostile) -> None:
    repo.config("protocol.ext.allow", "always")
    repo.config("protocol.allow", "always")
    _lose(repo, f"ext::{repo.script()}")


def _far_rewritten(repo: Hostile) -> None:
    repo.config("protocol.ext.allow", "always")
    repo.config(f"url.ext::{repo.script()}.insteadOf", "https://far.invalid/x")
    _lose(repo, "https://far.invalid/x")


def _far_vcs(repo: Hostile) -> None:
    _lose(repo, "x")
    repo.config("remote.far.vcs", "ext")
    repo.config("remote.far.url", f"{repo.script()}")


def _far_proxy(repo: Hostile) -> None:
    _lose(repo, "git://localhost/x")
    repo.config("core.gitProxy", repo.script())


def _pagers(repo: Hostile) -> None:
    for key in ("core.pager", "pager.status", "pager.diff", "pager.log", "pager.show"):
        repo.config(key, repo.touch())


def _aliases(repo: Hostile) -> None:
    for name in ("status", "diff", "commit-tree", "hook", "merge-tree", "worktree", "mktree"):
        repo.config(f"alias.{name}", f"!{repo.touch()}")


def _included(key: str, condition: str = "include.path") -> Callable[[Hostile], None]:
    def plant(repo: Hostile) -> None:
        path = repo.root / ".git" / f"more-{key}"
        repo.git("config", "--file", str(path), key, repo.script())
        repo.config(condition, str(path))

    return plant


def _per_worktree(repo: Hostile) -> None:
    repo.config("extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.fsmonitor", repo.script())


def _trailers(repo: Hostile) -> None:
    repo.config("trailer.Dibs-Agent.command", repo.touch())
    repo.config("trailer.sign.cmd", repo.touch())
    repo.config("trailer.sign.key", "Signed: ")


def _submodule(repo: Hostile) -> None:
    """Add a submodule whose configuration runs code when git reads it."""
    inner = repo.root / "sub"
    inner.mkdir()
    repo.git("init", "-q", folder=inner)
    (inner / "f.dat").write_text("f\n")
    repo.git("add", ".", folder=inner)
    repo.git("commit", "-q", "-m", "inner", folder=inner)
    repo.git("-c", "advice.addEmbeddedRepo=false", "add", "sub")
    repo.git("commit", "-q", "-m", "sub")
    repo.git("config", "core.fsmonitor", repo.script(), folder=inner)
    repo.git("config", "filter.in.clean", repo.touch(), folder=inner)
    (inner / ".git/info/attributes").write_text("*.dat filter=in\n")
    (inner / "f.dat").write_text("g\n")
    for name in ("submodule.recurse", "status.submoduleSummary", "fetch.recurseSubmodules"):
        repo.config(name, "true")
    repo.config("diff.submodule", "log")
    repo.config("diff.ignoreSubmodules", "none")
    repo.config("submodule.sub.ignore", "none")
    repo.config("submodule.sub.update", f"!{repo.touch()}")


def _own_hooks(repo: Hostile) -> None:
    repo.hooks(repo.root / ".git/hooks")


def _hook_settings(repo: Hostile) -> None:
    """Add hooks as settings, which git 2.54 and newer run."""
    repo.config("hook.planted.command", repo.touch())
    for event in ("post-index-change", "reference-transaction", "pre-commit", "post-checkout"):
        repo.config("hook.planted.event", event)


def _template(repo: Hostile) -> None:
    folder = repo.root / ".git/planted-template"
    repo.hooks(folder / "hooks")
    repo.config("init.templateDir", str(folder))


def _elsewhere(repo: Hostile) -> None:
    folder = repo.canaries.parent / "elsewhere"
    folder.mkdir()
    repo.config("core.worktree", str(folder))


def _tools(repo: Hostile) -> None:
    for key in (
        "difftool.x.cmd", "mergetool.x.cmd", "browser.x.cmd", "man.x.cmd", "guitool.x.cmd",
        "web.browser", "sendemail.tocmd", "imap.tunnel", "tar.tar.command", "instaweb.httpd",
        "uploadpack.packObjectsHook", "core.alternateRefsCommand", "interactive.diffFilter",
        "core.askPass", "sequence.editor", "core.editor", "lfs.customtransfer.x.path",
    ):  # fmt: skip
        repo.config(key, repo.touch())
    repo.config("diff.tool", "x")
    repo.config("merge.tool", "x")


def _credentials(repo: Hostile) -> None:
    repo.config("credential.helper", f"!{repo.touch()}")
    repo.config("credential.https://far.invalid.helper", f"!{repo.touch()}")


VECTORS = (
    Vector("fsmonitor", "silent", setting("core.fsmonitor", script=True)),
    Vector("external-diff", "silent", setting("diff.external", script=True)),
    Vector("diff-command", "silent", _diff("command")),
    Vector("diff-textconv", "silent", _diff("textconv")),
    Vector("shown-signature", "silent", _shown_signature),
    Vector("pagers", "silent", _pagers),
    Vector("aliases", "silent", _aliases),
    Vector("included", "silent", _included("core.fsmonitor")),
    Vector("included-if", "silent", _included("diff.external", "includeIf.gitdir:/**.path")),
    Vector("worktree-config", "silent", _per_worktree),
    Vector("trailers", "silent", _trailers),
    Vector("submodule", "silent", _submodule),
    Vector("template", "silent", _template),
    Vector("tools", "silent", _tools),
    Vector("credentials", "silent", _credentials),
    Vector("clean", "refused", _filter("clean"), "filter.clean.clean"),
    Vector("smudge", "refused", _filter("smudge"), "filter.smudge.smudge"),
    Vector("process", "refused", _filter("process"), "filter.process.process"),
    Vector("driver", "refused", _driver, "merge.evil.driver"),
    Vector("default-driver", "refused", _default_driver, "merge.usual.driver"),
    Vector("signing", "refused", _signing, "gpg.program"),
    Vector("ssh-signing", "refused", _ssh_signing, "gpg.ssh.defaultkeycommand"),
    Vector("hooks-path", "refused", _hooks_path, "core.hookspath"),
    Vector("hook-settings", "refused", _hook_settings, "hook.planted.command"),
    Vector("far-ssh", "broken", _far_ssh),
    Vector("far-upload-pack", "broken", _far_upload_pack),
    Vector("far-ext", "broken", _far_ext),
    Vector("far-rewritten", "broken", _far_rewritten),
    Vector("far-vcs", "broken", _far_vcs),
    Vector("far-proxy", "broken", _far_proxy),
    Vector("elsewhere", "broken", _elsewhere),
)
#: These run in `dibs commit`, as in `git commit`, and nowhere else.
OWN_HOOKS = Vector("own-hooks", "silent", _own_hooks)
