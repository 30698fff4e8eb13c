"""Make a project of this repository: create the place where claims are kept. Safe to repeat.

In a git repository the state lies in the git directory, shared by all working trees; elsewhere in a
folder .dibs. No file of yours is touched.

exit status: 0 made, or there already
"""

from __future__ import annotations

from dibs.errors import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.project import Project


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs init``."""
    parser.add_argument("--agents", default="none", metavar="none", help="which agents to wire up")


def run(args: Namespace) -> int:
    """Make the state, and print where it lies and what to do next."""
    from dibs.cli.session import print_json
    from dibs.project import create

    if args.agents != "none":
        raise BadUsage(
            "init: wiring up agents is not there yet", hint="--agents takes only none for now"
        )
    project, created = create(args.repo)
    try:
        if args.json:
            repository = project.place.repository
            print_json(
                {
                    "root": repository.root,
                    "state": repository.state,
                    "engine": engine_name(project.config.engine),
                    "created": created,
                }
            )
        else:
            _print(project, created=created)
    finally:
        project.close()
    return 0


def engine_name(url: str) -> str:
    """Return the engine in force, without what is secret in its address."""
    from dibs.core.secrets import mask

    return mask(url) if url else "sqlite"


def _print(project: Project, *, created: bool) -> None:
    from dibs.cli.text import bold, printable

    repository = project.place.repository
    if created:
        print(f"made a Dibs project of {bold(printable(repository.root))}")
    else:
        print(f"{bold(printable(repository.root))} is a Dibs project already; nothing was changed")
    engine = engine_name(project.config.engine)
    if engine == "sqlite":
        shared = "shared by all working trees" if repository.common else "outside of git"
        print(f"  state   {printable(repository.state)} ({shared})")
    else:
        print("  state   elsewhere (shared by all clones that name this engine)")
    print(f"  engine  {printable(engine)}")
    print("next:")
    print('  dibs claim src/login.py --reason "fix login"   take what you need')
    print("  dibs status                                     see who has what")
