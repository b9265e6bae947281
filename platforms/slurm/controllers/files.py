"""Files shared by login and compute nodes: images and logs."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from platforms.slurm import sif
from platforms.slurm.controllers import SlurmError
from platforms.slurm.controllers.access import run
from platforms.slurm.site_model import SlurmAccess

_BUILD_WITHIN_S: Final = 3600
TAIL_BYTES: Final = 16_384
_MOST_LOGS: Final = 20  # log files of an array


@dataclass(frozen=True, slots=True)
class SifOnStore:
    """A file that exists."""

    sha256: str
    size_bytes: int


def build_sif(site: SlurmAccess, ref: str, path: str, *, name: str) -> SifOnStore:
    """Create the file unless a complete one exists. Raises SlurmError."""
    done = run(site, ["sh"], given=sif.build_script(site, ref, path, name=name), within_s=_BUILD_WITHIN_S)
    if done.code == sif.FULL:
        free = run(site, ["df", "-h", site.image_store]).out.splitlines()[-1:]
        raise SlurmError(
            f"the image store {site.image_store} is full ({' '.join(free).strip()}): remove images, or enlarge it"
        )
    if done.code == sif.TOO_OLD:
        raise SlurmError(f"{site.program} is too old for what the image needs ({done.words}): update it")
    if done.code == sif.NOT_BUILT:
        raise SlurmError(f"{site.program} could not make {path} of {ref}: {done.words}")
    if done.code or len(done.out.split()) != 2:
        raise SlurmError(f"{path} could not be made: {done.words}")
    digest, size = done.out.split()
    return SifOnStore(digest, int(size))


def size_of(site: SlurmAccess, path: str) -> int | None:
    """Size in bytes; None if the file is missing. Raises SlurmError."""
    done = run(site, ["stat", "--format=%s", "--", path])
    return int(done.out) if not done.code else None


def make_folder(site: SlurmAccess, folder: str) -> None:
    """Create a store folder. Raises SlurmError."""
    done = run(site, ["mkdir", "-p", "--", folder])
    if done.code:
        raise SlurmError(f"{folder} cannot be made: {done.words}; is image_store right, and may the user write there?")


def log_tail(site: SlurmAccess, pattern: str) -> str:
    """The end of a job's log, or of an array's first ones. `pattern`: names in one folder. Raises SlurmError."""
    folder, _, names = pattern.rpartition("/")
    beginning, star, end = names.partition("*")
    glob = shlex.quote(beginning) + (f"*{shlex.quote(end)}" if star else "")
    loop = f'cd {shlex.quote(folder)} 2>/dev/null || exit 0; n=0; for f in {glob}; do [ -f "$f" ] || continue; '
    loop += f'n=$((n+1)); [ $n -le {_MOST_LOGS} ] && tail -c {TAIL_BYTES} -- "$f"; done; exit 0'
    return run(site, ["sh", "-c", loop]).out


def program_version(site: SlurmAccess) -> str | None:
    """Version of the site's container program, where Slurm's commands are; None if missing."""
    done = run(site, ["sh", "-c", f"{shlex.quote(site.program)} --version"])
    return done.out.split()[-1].partition("-")[0] if not done.code and done.out.split() else None


def forget(site: SlurmAccess, folder: str, numbers: list[int]) -> None:
    """Record jobs of a deleted resource, so that none is adopted as outcome again. Raises SlurmError."""
    if numbers:
        make_folder(site, folder)
        lines = "".join(f"{number}\n" for number in numbers)
        done = run(site, ["sh", "-c", f"cat >> {shlex.quote(f'{folder}/forgotten')}"], given=lines)
        if done.code:
            raise SlurmError(f"{folder}/forgotten cannot be written: {done.words}")


def forgotten(site: SlurmAccess, folder: str) -> frozenset[int]:
    """Jobs `forget` recorded."""
    done = run(site, ["sh", "-c", f"cat {shlex.quote(f'{folder}/forgotten')} 2>/dev/null || true"])
    return frozenset(int(line) for line in done.out.split() if line.isdigit())


def put_files(site: SlurmAccess, root: str, files: Mapping[str, str], *, own: str) -> None:
    """Write files by path below `root`, each atomically; removes everything else in the folder `own` there.

    Files are world-readable: they must contain no secrets. Raises SlurmError.
    """
    done = run(site, ["python3", "-I", "-c", _PUT, root, own], given=json.dumps(dict(files)))
    if done.code:
        raise SlurmError(f"{root} cannot be written: {done.words}; is image_store right, and may the user write there?")


def remove_folder(site: SlurmAccess, folder: str) -> None:
    """Remove a folder with its content; a missing one is no error. Raises SlurmError."""
    done = run(site, ["rm", "-rf", "--", folder])
    if done.code:
        raise SlurmError(f"{folder} cannot be removed: {done.words}")


_PUT: Final = """
import json, os, pathlib, stat, sys
os.umask(0o022)
real = pathlib.Path(os.path.realpath(sys.argv[1]))
for each in (real, *real.parents):
    if not each.exists():
        continue
    found = each.stat()
    if found.st_uid not in (0, os.geteuid()):
        sys.exit("%s belongs to user id %d, who could change what users run: use a folder of root or of this account"
                 % (each, found.st_uid))
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        sys.exit("group or others may write in %s, and could change what users run: chmod go-w %s" % (each, each))
root, files = pathlib.Path(sys.argv[1]), json.load(sys.stdin)
for path, text in files.items():
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name("." + target.name + ".new")
    new.write_text(text, encoding="utf-8")
    os.replace(str(new), str(target))
for old in [*(root / sys.argv[2]).rglob("*")]:
    if old.is_file() and str(old.relative_to(root)) not in files:
        old.unlink()
"""
