"""Commit the files that you have claimed and changed, and nothing else.

Other changes in the working tree, staged or not, stay as they are. Dibs checks your claims again at the
moment the branch moves. PATH limits the commit to some of your files.

Examples:
  dibs commit -m "fix login"
  dibs commit -m "fix login" -m "The token was too old." src/auth.py --release
  dibs commit --dry-run

exit status: 0 committed, 3 refused (another agent holds a path or has lines in it that are in no commit, a
hook failed, or it would undo a commit that you have not read), 4 you lost a claim, 6 nothing to commit
"""

from __future__ import annotations

import os
import sys

from dibs.cli.support.text import bold, dim, green, printable, red, span, yellow
from dibs.core.text.durations import show_expiry
from dibs.core.text.names import shown
from dibs.errors import BadUsage
from dibs.shapes.commits import commit_answer
from dibs.shapes.quoting import LIMIT, Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.services.commits.values import (
        CommitDenied,
        CommitRequest,
        Committed,
        File,
        Inherited,
    )

REFUSED = 3
#: What is wrong with a path that no other agent holds.
WHY = {
    "unclaimed": "not claimed",
    "shared": "your claim on it is shared",
    "guarded": "reserved for humans",
    "nested": "a separate git repository",
}
#: The hooks that --no-verify skips.
SKIPPED = ("pre-commit", "commit-msg")
_MAX = 1024 * 1024


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs commit``."""
    parser.add_argument("pattern", nargs="*", metavar="PATH", help="file, folder, or glob")
    parser.add_argument(
        "-m",
        "--message",
        action="append",
        default=[],
        metavar="MSG",
        help="commit message; repeat for more paragraphs",
    )
    parser.add_argument(
        "-F", "--file", default="", metavar="FILE", help="read the message from FILE (- for stdin)"
    )
    parser.add_argument("--release", action="store_true", help="release the committed files")
    parser.add_argument(
        "--no-verify", action="store_true", help="skip the pre-commit and commit-msg hooks"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be committed")
    parser.add_argument(
        "--inherited",
        action="store_true",
        help="also commit other agents' lines that are in no commit, and name their authors",
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="commit even if it undoes what others committed since you read the file",
    )
    parser.add_argument("--task", default="", metavar="TASK", help="task this commit belongs to")
    parser.add_argument("--literal", action="store_true", help="treat PATH as a literal path")
    parser.add_argument(
        "--request-id",
        default="",
        metavar="ID",
        help="make a retry safe (repeat it with the same ID)",
    )


def run(args: Namespace) -> int:
    """Commit, print the result, and return the exit status."""
    from dibs.cli.support.session import Session
    from dibs.services.commits.values import Committed

    message = "" if args.dry_run and not (args.message or args.file) else _message(args)
    with Session(args) as session:
        request = _request(session, args, message)
        if os.environ.get("DIBS_AGENT"):
            _refuse_namesakes(session, args, request)
        answer = session.project.commits.commit(
            session.caller, request, trial=args.dry_run, as_git=True
        )
        _show(session, answer, _with_inherited(args, message))
    return 0 if isinstance(answer, Committed) else REFUSED


def _refuse_namesakes(session: Session, args: Namespace, request: CommitRequest) -> None:
    """Refuse to commit what another live process with the caller's name holds."""
    from dibs.cli.support.namesakes import Namesakes, is_named
    from dibs.services.commits.values import Committed

    named = Namesakes(session) if is_named(session, args) else None
    if named is None or not named.claims():
        return
    answer = session.project.commits.commit(session.caller, request, trial=True)
    if isinstance(answer, Committed):
        tree = session.project.tree
        paths = [os.path.join(tree.repository.root, file.path) for file in answer.files]
        named.refuse([tree.resolve(path, literal=True) for path in paths], "commit")


def _message(args: Namespace) -> str:
    if bool(args.message) == bool(args.file):
        raise BadUsage(
            "commit: a message is required: use either -m or -F",
            hint='example: dibs commit -m "fix login"',
        )
    if args.message:
        from dibs.core.changes.trailers import paragraphs

        return paragraphs(args.message)
    if args.file == "-":
        content = sys.stdin.buffer.read(_MAX + 1)
    else:
        with open(args.file, "rb") as file:
            content = file.read(_MAX + 1)
    return content.decode("utf-8", "surrogateescape")


def _request(session: Session, args: Namespace, message: str) -> CommitRequest:
    """Return the commit that the options describe."""
    from dibs.services.commits.scope import names_and_patterns
    from dibs.services.commits.values import CommitRequest

    names, texts = names_and_patterns(session.project.place.repository, args.pattern)
    return CommitRequest(
        message,
        tuple(session.patterns(texts, literal=args.literal)),
        tuple(names),
        release=args.release,
        verify=not args.no_verify,
        request_id=args.request_id,
        task=args.task,
        inherited=args.inherited,
        anyway=args.anyway,
    )


def _with_inherited(args: Namespace, message: str) -> str:
    """Return the command again, so that it commits other agents' lines, too."""
    words = ["dibs", "commit", "--inherited"]
    if args.dry_run:
        words.append("--dry-run")
    if args.file and args.file != "-":
        words += ["-F", args.file]
    elif message:
        words += ["-m", message]
    flags = {"--release": args.release, "--no-verify": args.no_verify, "--anyway": args.anyway}
    words += [flag for flag, wanted in {**flags, "--literal": args.literal}.items() if wanted]
    values = {"--task": args.task, "--request-id": args.request_id}
    values |= {"--agent": getattr(args, "agent", ""), "--repo": getattr(args, "repo", "")}
    words += [word for option, value in values.items() if value for word in (option, str(value))]
    from shlex import join

    dashed = any(path.startswith("-") for path in args.pattern)
    return join([*words, *(["--"] if dashed else []), *args.pattern])


def _show(session: Session, answer: Committed | CommitDenied, again: str) -> None:
    from dibs.core.claims.coverage import in_folder
    from dibs.services.commits.values import CommitDenied

    folder = session.project.place.repository.subdir
    if isinstance(answer, CommitDenied):
        answer = answer._replace(blocked=tuple(in_folder(one, folder) for one in answer.blocked))

    def shape() -> object:
        return commit_answer(answer.advised(again) if isinstance(answer, CommitDenied) else answer)

    def text() -> None:
        from dibs.services.commits.values import Committed

        if isinstance(answer, Committed):
            _print_committed(answer, session.caller)
        else:
            _print_refused(answer, session.caller, again)

    session.show(shape, text)


def _print_committed(answer: Committed, reader: Caller) -> None:
    branch = "a detached HEAD" if answer.ref == "HEAD" else printable(answer.branch)
    done = f"{green('committed')} {bold(answer.commit[:10])}:" if answer.commit else "would commit"
    again = " (already done by an earlier request)" if answer.repeated else ""
    print(f"{done} {_files(len(answer.files))} to {branch}{again}")
    for file in answer.files:
        print(f"  {file.what or 'file':<8} {printable(shown(file.path))}")
    for claim in answer.released:
        print(f"released {printable(claim.pattern)}")
    unchanged = [path for path in answer.unchanged if path not in answer.ignored]
    if unchanged:
        print(f"{dim('claimed, but unchanged')}: {', '.join(map(printable, unchanged))}")
    if answer.ignored:
        print(
            f"{yellow('claimed, but ignored by git')}: {', '.join(map(printable, answer.ignored))}"
        )
    if answer.on_disk:
        print(
            f"{yellow('deleted, but still on disk')}: {', '.join(map(printable, answer.on_disk))}"
        )
    _print_older(answer)
    _print_left(answer, reader)
    if answer.late:
        print(yellow("one of your claims expired while the branch moved: review this commit"))
    if answer.commit and not answer.seq and not answer.repeated:
        note = "the ledger entry is not written yet; the next Dibs command writes it"
        print(f"dibs: {note}", file=sys.stderr)


def _print_older(answer: Committed) -> None:
    """Show other authors' lines that the commit includes, by author."""
    for one in answer.included:
        print(f"includes {_older(one)}")


def _older(one: Inherited) -> str:
    lines = f"{one.lines} line{'' if one.lines == 1 else 's'}" if one.lines else "changes"
    whose = f" of {one.agent or 'a person'}"
    return f"{lines}{whose} in {printable(shown(one.path))}"


def _print_left(answer: Committed, reader: Caller) -> None:
    """Show the other changes, so that nobody forgets a new file."""
    if answer.nobody:
        print(yellow("unclaimed changes in the same folders (claim a file to commit it):"))
        for file in answer.nobody:
            print(f"  {_what(file):<9} {printable(shown(file.path))}")
    if answer.elsewhere:
        print(dim(_elsewhere(answer.elsewhere, more=bool(answer.nobody))))
    if answer.others:
        quoted = Quoting(reader, map(str, answer.others))
        lines = [
            f"  {quoted.path(shown(item.path), item.holder)}: {item.holder} holds"
            f" {quoted.path(item.pattern, item.holder)}"
            for item in answer.others
        ]
        print("\n".join(quoted.page(lines, ["not included, because other agents hold them:"])))


def _elsewhere(count: int, *, more: bool) -> str:
    files = f"{count}{' more' if more else ''} changed file{'' if count == 1 else 's'}"
    return f"{files} {'is' if count == 1 else 'are'} unclaimed (see `dibs changes`)"


def _files(count: int) -> str:
    return f"{count} file" if count == 1 else f"{count} files"


def _what(file: File) -> str:
    return "untracked" if file.what == "new" else file.what


def _print_refused(answer: CommitDenied, reader: Caller, again: str) -> None:
    if answer.hook and not answer.blocked:
        print(f"{red('refused')}: the {answer.hook} hook failed; nothing was committed")
        if answer.hook in SKIPPED:
            print(f"  {dim('-')} fix what it printed above, or skip it with --no-verify")
        else:
            print(f"  {dim('-')} fix what it printed above")
        return

    from dibs.core.claims.coverage import inherited_lines

    quoted = Quoting(reader, map(str, answer.blocked))
    lines = []
    for item in answer.blocked:
        why = WHY.get(item.why, item.why)
        if item.why == "held":
            held = quoted.path(item.pattern, item.holder)
            left = show_expiry(span(item.expires_in), while_running=item.while_running)
            why = f"{item.holder} holds {held} ({left})"
        elif item.why == "inherited":
            why = inherited_lines(item)
        elif item.why == "dropped":
            why = f"the {answer.hook} hook staged it without lines that have landed"
        elif item.why == "undoes":
            who = quoted.path(item.holder, item.holder)
            why = f"it would undo {item.commit[:10]} by {who}, which you have not read"
        lines.append(f"  {printable(shown(item.path))}: {why}")
        lines += _versions(item, quoted)
        if item.hint:
            lines.append(f"    {dim('-')} {printable(item.hint)}")
    if any(item.why == "inherited" for item in answer.blocked):
        lines.append(f"  {dim('-')} commit both: {printable(again)}")
    print("\n".join(quoted.page(lines, [f"{red('refused')}: nothing was committed"])))


def _versions(item: Blocked, quoted: Quoting) -> list[str]:
    """Return the lines of the other version of a path, and the caller's own."""
    if item.why not in {"undoes", "inherited", "dropped"}:
        return []
    shows = item.why == "undoes"  # also that a version has no lines
    whose = f"{item.holder}'s" if item.why == "inherited" else "committed"
    lines = []
    if shows or item.landed:
        theirs = quoted.lines("\n".join(item.landed), item.holder, LIMIT) if item.landed else []
        lines += [f"    {whose}:{'' if item.landed else ' (removed)'}"]
        lines += [f"    {line}" for line in theirs]
    if shows or item.yours:
        lines += [f"    yours:{'' if item.yours else ' (removed)'}"]
        lines += [f"      {printable(line)}" for line in item.yours]
    return lines
