"""Show whether two patterns overlap, and a path that both match. Works without a project.

Examples:
  dibs explain 'src/**' 'src/*.py'
  dibs explain README.md readme.md --case-sensitive

exit status: 0 they overlap, 3 they do not
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg
from dibs.core.patterns.pattern import overlap, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

APART = 3

OPTIONS = (
    arg("one", metavar="A", help="a pattern"),
    arg("other", metavar="B", help="another pattern"),
    arg("--case-sensitive", action="store_true", help="treat README and readme as different"),
)


def run(args: Namespace) -> int:
    """Print whether both patterns match a common path."""
    fold = not args.case_sensitive
    one, other = parse(args.one, fold_case=fold), parse(args.other, fold_case=fold)
    witness = overlap(one, other)
    if args.json:
        from dibs.cli.support.session import print_json
        from dibs.shapes.checks import overlapping

        print_json(overlapping(one, other, witness))
    else:
        from dibs.cli.support.text import printable

        names = f"{printable(one.text)} and {printable(other.text)}"
        if witness is None:
            print(f"{names} do not overlap: no path matches both")
        else:
            print(f"{names} overlap: both match {printable(witness)}")
    return 0 if witness is not None else APART
