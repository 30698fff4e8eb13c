"""Names of tasks: new ids, and the files and claims of a name.

Pure. A task's name is its file's name without the ending. It becomes a file name on branches that others
check out, so it is a single path component of plain text and never hidden.
"""

from __future__ import annotations

import time
from functools import lru_cache

from dibs.core.patterns.filing import entry_prefix
from dibs.core.patterns.pattern import Pattern, parse
from dibs.core.text.names import AGENT_ID_CHARACTERS, slug
from dibs.errors import BadInput

#: The resource scheme of tasks.
SCHEME = "task"
#: Endings of task files; the name is what precedes them.
ENDINGS = (".yml", ".yaml")
#: The maximum length of a name in bytes: file systems allow 255 with the ending.
MAX_NAME = 250
#: Up to this length a plain name needs no parser.
_PLAIN_MAX = 128
#: How much of a new id comes from the agent.
_AGENT_MAX = 40
_STAMP = "2025-11-23T1430"
#: The naming rule of task files, as people write it.
RULE = "YYYY-MM-DDTHHMM-<agent>-<slug>.yaml"
#: The last second of the year 9999.
_LAST = 253_402_300_799


def new_id(moment: float, agent: str, about: str) -> str:
    """Return the id of a new task, such as ``2025-11-23T1430-curator-audit``."""
    minute = time.strftime("%Y-%m-%dT%H%M", time.gmtime(min(max(moment, 0.0), _LAST)))
    return f"{minute}-{slug(agent or 'any', _AGENT_MAX)}-{slug(about)}"


def follows_rule(id_: str) -> bool:
    """Return whether an id has the form ``YYYY-MM-DDTHHMM-<agent>-<slug>``, with a real date and time."""
    stamp, agent = id_[:15], id_[15:]
    try:
        time.strptime(stamp, "%Y-%m-%dT%H%M")
    except ValueError:
        return False
    before, *words = agent.split("-")
    return len(stamp) == len(_STAMP) and not before and len(words) > 1 and all(words)


def names_agent(id_: str, agent: str) -> bool:
    """Return whether an id that follows the rule names this agent; any id does for a task without one."""
    rest = id_[len(_STAMP) :].lower()
    return not agent or rest.startswith((f"-{agent.lower()}-", f"-{slug(agent, _AGENT_MAX)}-"))


@lru_cache(maxsize=256)
def task_pattern(name: str, *, fold_case: bool) -> Pattern:
    """Return the pattern of a claim on the task; raise ``BadInput`` if there is none."""
    if 0 < len(name) <= _PLAIN_MAX and name[0].isalnum() and AGENT_ID_CHARACTERS.issuperset(name):
        # Every task on the board has such a name, and every take needs its pattern.
        key = f":{SCHEME}/{name.lower() if fold_case else name}"
        return Pattern(f"{SCHEME}:{name}", key, folded=fold_case, scheme=SCHEME, rows=((name,),))
    return parse(f"{SCHEME}:{name}", literal=True, fold_case=fold_case)


def name_of(pattern: Pattern) -> str:
    """Return the task that a literal pattern names, in its original spelling."""
    return pattern.path[len(SCHEME) + 1 :]


def can_be_file(name: str) -> bool:
    """Return whether a file can have this name."""
    return (
        name.isprintable()
        and "/" not in name
        and name[:1] not in {"", "."}
        and len(name.encode("utf-8")) <= MAX_NAME
    )


def claim_key(pattern: Pattern, name: str, agent: str, id_: str) -> str:
    """Return the key of a claim on the task that its owner spells ``name``.

    If the pattern's own key has another spelling, the name precedes the id: a lock file is named after the
    task, and shell agents look for exactly that name.
    """
    spelled = pattern.key == f":{SCHEME}/{name}" or not can_be_file(name)
    between = "" if spelled else f"{name}/"
    return f"{entry_prefix(pattern)}{agent}/{between}{id_}"


def task_of_file(file: str, *, fold_case: bool) -> str:
    """Return the task whose file has this name, empty if it cannot be claimed."""
    ending = next((e for e in ENDINGS if file.endswith(e)), "")
    name = file.removesuffix(ending) if ending else ""
    if not can_be_file(name):
        return ""
    try:
        pattern = task_pattern(name, fold_case=fold_case)
    except BadInput:
        return ""
    # A name that a claim would spell differently (not in NFC) would lock another file.
    return name if name_of(pattern) == name else ""
