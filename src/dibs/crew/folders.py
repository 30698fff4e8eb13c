"""Where the crew keeps its files: the configuration in force, and the folder of each agent."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

from dibs.config.toml import fault
from dibs.core.crew.roles import NAME, read_config
from dibs.core.text.names import printable
from dibs.core.text.secrets import mask
from dibs.errors import Misconfigured
from dibs.local.files import read_file, regular, write_file
from dibs.local.repository import crew_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.core.crew.roles import CrewConfig

#: The largest configuration, and how many crash records of an agent are kept.
_LARGEST, _MOST_CRASHES = 256 * 1024, 10
LOCK, _CRASHES = "lock", "crashes.json"


def agent_folder(state: str, agent: str) -> str:
    """Return the folder of one agent."""
    return os.path.join(crew_folder(state), agent)


def load_config(path: str, environ: Mapping[str, str]) -> tuple[CrewConfig, bytes]:
    """Read and check a configuration; return it with the bytes it was read from."""
    import tomllib

    try:
        with open(path, "rb", opener=regular) as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise Misconfigured(
            f"{printable(path)} does not exist", code="CREW_CONFIG",
            hint='create it, for example: [roles.developer] with agent = "claude"',
        ) from None  # fmt: skip
    if len(data) > _LARGEST:
        raise Misconfigured(f"{NAME} is larger than 256 kB", code="CREW_CONFIG")
    try:
        text = data.decode("utf-8-sig")
        document = tomllib.loads(text)
    except UnicodeDecodeError:
        raise Misconfigured(f"{NAME} is not UTF-8 text", code="CREW_CONFIG") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what, line = fault(error, text)
        raise Misconfigured(f"{NAME}:{line}: invalid TOML: {what}", code="CREW_CONFIG") from None
    return read_config(document, environ), data


def put_in_force(state: str, data: bytes) -> None:
    """Store a checked configuration: later edits of the file count only after another ``crew up``."""
    os.makedirs(crew_folder(state), mode=0o700, exist_ok=True)
    write_file(os.path.join(crew_folder(state), NAME), data, mode=0o600)


def config_in_force(state: str, environ: Mapping[str, str]) -> CrewConfig | None:
    """Return the configuration that ``crew up`` stored; None before the first."""
    path = os.path.join(crew_folder(state), NAME)
    return load_config(path, environ)[0] if os.path.exists(path) else None


def record_crash(state: str, agent: str, record: Mapping[str, Any]) -> None:
    """Keep a crash with the last output and what the agent held."""
    path = os.path.join(agent_folder(state, agent), _CRASHES)
    kept = [*crashes_of(state, agent), {"at": time.time(), **record}][-_MOST_CRASHES:]
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_file(path, json.dumps(kept).encode(), mode=0o600)


def crashes_of(state: str, agent: str) -> list[dict[str, Any]]:
    """Return the crash records of an agent, oldest first."""
    try:
        found = json.loads(read_file(os.path.join(agent_folder(state, agent), _CRASHES)))
    except (OSError, ValueError):
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def shown_output(text: str, most: int = 2_000) -> str:
    """Return the end of an agent's output without secrets, for records and messages."""
    return mask(text[-most:])
