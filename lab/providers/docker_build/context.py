"""What is in a build context: the files that BuildKit would be sent, as one hash."""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from pathspec.patterns.gitignore.basic import GitIgnoreBasicPattern as Pattern

IGNORE_FILE = ".dockerignore"


def content_hash(context: Path, dockerfile: str, named: Mapping[str, Path], dockerfile_path: Path | None = None) -> str:
    """SHA-256 over the Dockerfile's text and all files of the context and of the local named contexts.

    Names, kinds, permission bits, link targets and contents count; times and owners do not. `dockerfile_path` is
    needed only to find `<Dockerfile>.dockerignore`, which goes before the context's own ignore file.
    Raises OSError for a file that cannot be read.
    """
    digest = hashlib.sha256()
    _add(digest, "dockerfile", dockerfile.encode())
    for name, folder in (("", context), *sorted(named.items())):
        _add(digest, "context", name.encode())
        for path in context_files(folder, dockerfile_path if name == "" else None):
            _add_file(digest, folder, path)
    return digest.hexdigest()


def context_files(folder: Path, dockerfile_path: Path | None = None) -> Iterator[str]:
    """Paths (relative, with `/`, sorted) of what is left of `folder` after its ignore file; folders are not listed."""
    patterns = read_ignore_file(folder, dockerfile_path)
    # With a `!` line a file below an ignored folder may come back, so only without one are folders left out whole.
    may_prune = all(pattern.include for pattern in patterns)
    yield from _walk(folder, "", patterns, [False] * len(patterns), may_prune=may_prune)


def read_ignore_file(folder: Path, dockerfile_path: Path | None = None) -> list[Pattern]:
    candidates = [folder / IGNORE_FILE]
    if dockerfile_path is not None:
        candidates.insert(0, dockerfile_path.with_name(dockerfile_path.name + IGNORE_FILE))
    for path in candidates:
        if path.is_file():
            return parse_ignore_lines(path.read_text().splitlines())
    return []


def parse_ignore_lines(lines: list[str]) -> list[Pattern]:
    """Docker's ignore patterns. The wildcards are gitignore's, but every pattern starts at the context's root."""
    return [Pattern(pattern) for line in lines if (pattern := _anchored(line.strip()))]


def _anchored(line: str) -> str:
    if not line or line.startswith("#"):
        return ""
    negation, pattern = ("!", line[1:].strip()) if line.startswith("!") else ("", line)
    # Docker negates a character class by ^ alone; for gitignore ! does so, too.
    pattern = posixpath.normpath(pattern).lstrip("/").replace("[!", r"[\!")
    return "" if pattern in {".", ""} else f"{negation}/{pattern}"


def _walk(folder: Path, prefix: str, patterns: list[Pattern], above: list[bool], *, may_prune: bool) -> Iterator[str]:
    """`above` says which patterns match a folder that this one lies in: they match all that is in there, too."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = prefix + entry.name
        matches = [known or bool(each.match_file(path)) for known, each in zip(above, patterns, strict=True)]
        # The last pattern that matches decides.
        deciding = [each.include for each, match in zip(patterns, matches, strict=True) if match]
        is_out = bool(deciding and deciding[-1])
        if entry.is_dir(follow_symlinks=False):
            if not (is_out and may_prune):
                yield from _walk(folder / entry.name, f"{path}/", patterns, matches, may_prune=may_prune)
        elif not is_out:
            yield path


def _add_file(digest: hashlib._Hash, folder: Path, path: str) -> None:
    full = folder / path
    status = full.lstat()
    _add(digest, f"{stat.S_IFMT(status.st_mode):o} {stat.S_IMODE(status.st_mode):o}", path.encode())
    if stat.S_ISLNK(status.st_mode):
        _add(digest, "link", str(full.readlink()).encode())
    elif stat.S_ISREG(status.st_mode):
        with full.open("rb") as source:
            _add(digest, "content", hashlib.file_digest(source, "sha256").digest())


def _add(digest: hashlib._Hash, kind: str, value: bytes) -> None:
    """Add one field. The length goes in too, so that no two lists of fields look alike."""
    digest.update(f"{kind} {len(value)}\n".encode() + value)
