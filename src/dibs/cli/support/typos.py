"""Find claims that are probably typing errors, and suggest what was meant.

Loaded only for a pattern whose path does not exist, or for very many patterns.
"""

from __future__ import annotations

import os
from itertools import islice

from dibs.core.patterns.pattern import matches
from dibs.core.patterns.spelling import file_path, split_scheme

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.local.paths import PathResolver

#: How many files are looked at; in a larger folder a glob counts as matching.
_MOST_FILES = 5_000
_SPECIAL = frozenset("*?[]{}\\")
#: How alike the stems of two file names must be, and two folder names.
_ALIKE_FILES, _ALIKE_FOLDERS = 0.8, 0.6


def typo_warnings(
    tree: PathResolver,
    texts: Sequence[str],
    unseen: Sequence[str],
    *,
    literal: bool,
    many: bool,
    granted: bool = True,
) -> list[str]:
    """Return a warning for each ``unseen`` text that matches no file, and for too ``many`` texts."""
    from shlex import quote

    found = [_expanded_glob(texts)] if many else []
    for text in unseen:
        if not _matches_nothing(tree, text, literal=literal):
            continue
        meant = _suggestion(tree, text)
        advice = f"did you mean {meant}?" if meant else "use --new if you will create it"
        if meant and granted:
            advice += f" to undo: dibs release {quote(text)}"
        found.append(f"no file matches {text} ({advice})")
    return found


def corrected(tree: PathResolver, text: str, *, literal: bool) -> list[str]:
    """Return the patterns that a text that matches no file probably means, if any."""
    if not _matches_nothing(tree, text, literal=literal):
        return []
    meant = _suggestion(tree, text)
    return meant.split(" ") if "," in text else [meant] * bool(meant)


def _matches_nothing(tree: PathResolver, text: str, *, literal: bool) -> bool:
    pattern = tree.resolve(text, literal=literal)
    named = pattern.scheme or split_scheme(file_path(text))[0]
    return not named and not _matches_something(tree, pattern)


def _expanded_glob(texts: Sequence[str]) -> str:
    """Return a warning about very many paths, with the glob that they probably came from."""
    folder = os.path.commonpath(texts) if not any(map(os.path.isabs, texts)) else ""
    folders = {os.path.dirname(text) for text in texts}
    endings = {os.path.splitext(text)[1] for text in texts}
    name = f"*{endings.pop()}" if len(endings) == 1 else "*"
    glob = f"{folder}/{name}" if folder else name
    if len(folders) > 1:
        glob = f"{folder}/**" if folder else f"**/{name}"
    return f"{len(texts)} paths: quote a glob to keep the shell from expanding it, such as '{glob}'"


def _matches_something(tree: PathResolver, pattern: Pattern) -> bool:
    root = tree.repository.root
    if pattern.literal:
        return os.path.lexists(os.path.join(root, pattern.path.rstrip("/")))
    parts = pattern.text.split("/")
    plain = next((at for at, part in enumerate(parts) if not _SPECIAL.isdisjoint(part)), len(parts))
    seen = 0
    for path in islice(_files(root, "/".join(parts[:plain])), _MOST_FILES):
        seen += 1
        if matches(pattern, f"./{path}"):
            return True
    return seen == _MOST_FILES


def _files(root: str, folder: str) -> Iterator[str]:
    """Yield the paths below a folder of the repository, nearest first."""
    waiting = [folder]
    for here in waiting:
        for name in _names(os.path.join(root, here)):
            path = f"{here}/{name}" if here else name
            yield path
            if os.path.isdir(os.path.join(root, path)) and not os.path.islink(
                os.path.join(root, path)
            ):
                waiting.append(path)


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name != ".git")
    except OSError:
        return []


def _suggestion(tree: PathResolver, text: str) -> str:
    """Return what was probably meant, in the words to type, or an empty text."""
    root, subdir = tree.repository.root, tree.repository.subdir
    if (path := file_path(text)) != text:
        text = path.removeprefix("./")
    here = os.path.join(root, subdir)

    def exists(path: str) -> bool:
        return bool(path) and os.path.lexists(os.path.join(here, path))

    slashed = text.replace("\\", "/")
    if slashed != text and (exists(slashed) or _SPECIAL.isdisjoint(slashed)):
        return slashed if exists(slashed) else _nearest(here, slashed) or slashed
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1 and "{" not in text and any(map(exists, parts)):
        return " ".join(filter(None, parts))
    above = os.path.join(root, text)
    if subdir and "/" in text and os.path.isdir(os.path.dirname(above.rstrip("/"))):
        return os.path.relpath(above, here) + ("/" if text.endswith("/") else "")
    return _nearest(here, text) or _elsewhere(tree, text)


def _nearest(here: str, text: str) -> str:
    """Return the path with each name that does not exist replaced by a similar one."""
    done: list[str] = []
    changed = False
    parts = text.split("/")
    for at, part in enumerate(parts):
        folder = os.path.join(here, *done)
        if not _SPECIAL.isdisjoint(part):
            done += parts[at:]
            break
        if part and part not in {".", ".."} and not os.path.lexists(os.path.join(folder, part)):
            similar = _similar(part, _names(folder), last=at == len(parts) - 1)
            if not similar:
                return ""
            changed = True
            done.append(similar)
        else:
            done.append(part)
    return "/".join(done) if changed else ""


def _similar(word: str, names: list[str], *, last: bool) -> str:
    """Return the name that is most like ``word``: for files, with the same ending."""
    from difflib import get_close_matches

    if not last:
        return next(iter(get_close_matches(word, names, 1, _ALIKE_FOLDERS)), "")
    stem, ending = os.path.splitext(word)
    stems = {
        os.path.splitext(name)[0]: name for name in names if os.path.splitext(name)[1] == ending
    }
    return next((stems[found] for found in get_close_matches(stem, stems, 1, _ALIKE_FILES)), "")


def _elsewhere(tree: PathResolver, text: str) -> str:
    """Return the only file of this name in the repository, relative to the current folder."""
    name = text.rsplit("/", 1)[-1]
    if not name or not _SPECIAL.isdisjoint(name):
        return ""
    root, subdir = tree.repository.root, tree.repository.subdir
    found = [path for path in islice(_files(root, ""), _MOST_FILES) if path.endswith(f"/{name}")]
    return (
        os.path.relpath(os.path.join(root, found[0]), os.path.join(root, subdir))
        if len(found) == 1
        else ""
    )
