"""Image files for Singularity and Apptainer: their path in the store and their build script. Pure.

The file is built on the login node from the image digest. Builds of one digest may differ in bytes (a date), so
the file is named after the digest; the checksum next to it proves that the file is complete.
"""

import re
import shlex
from typing import Final

from errors import UserError
from platforms.slurm.site_model import SlurmAccess

_DIGEST: Final = re.compile(r"(?P<repository>[^\s@]+)@sha256:(?P<hex>[0-9a-f]{64})")
SHORT: Final = 12  # digest characters in a file name: as in git
DIGEST_LABEL: Final = "org.gpu-commons.digest"
FULL: Final = 28  # exit codes of the scripts below, to avoid parsing program output
NOT_BUILT: Final = 29
TOO_OLD: Final = 30


class NoDigest(UserError):  # noqa: N818 - the name states the fault
    """A reference without digest, named in the message."""


def sif_path(store: str, name: str, ref: str) -> str:
    """`STORE/NAME/DIGEST12.sif`. Raises NoDigest."""
    return f"{store.rstrip('/')}/{name}/{_parsed(ref)['hex'][:SHORT]}.sif"


def definition(ref: str, *, name: str, builder: str) -> str:
    """Definition file of the image `ref`: content by digest, and origin as labels. Raises NoDigest.

    https://docs.sylabs.io/guides/latest/user-guide/definition_files.html. No %post: nothing is added to what was built
    and proved.
    """
    digest = f"sha256:{_parsed(ref)['hex']}"
    labels = {DIGEST_LABEL: digest, "org.gpu-commons.image": name, "org.gpu-commons.builder": builder}
    lines = [f"    {key} {value}" for key, value in labels.items()]
    return "\n".join(["Bootstrap: docker", f"From: {ref}", "", "%labels", *lines, ""])


def build_script(site: SlurmAccess, ref: str, path: str, *, name: str) -> str:
    """Shell script that creates the file unless a complete one exists, and prints its sha256 and bytes.

    It may be killed at any time: the file gets its name once complete and read by the program itself. Raises
    NoDigest.
    """
    program = shlex.quote(site.program)
    registry = ref.partition("/")[0]
    insecure = " --no-https" if registry in site.insecure_registries else ""
    builder = f"{site.program} {site.program_version or ''}".strip()
    return f"""\
set -u
umask 022
target={shlex.quote(path)}
folder=$(dirname "$target")
sums() {{ cd "$folder" && sha256sum --check --status "$target.sha256"; }}
is_whole() {{ [ -f "$target" ] && [ -f "$target.sha256" ] && (sums); }}
say() {{ echo "$(cut -d' ' -f1 "$target.sha256") $(stat -c %s "$target")"; }}
if is_whole; then say; exit 0; fi
mkdir -p "$folder" || exit 1
find "$folder" -maxdepth 1 -name '.build-*' -mmin +1440 -exec rm -rf {{}} +
made=$(mktemp -d "$folder/.build-XXXXXX") || exit {FULL}
trap 'rm -rf "$made"' EXIT
trap 'exit 1' INT TERM HUP
export SINGULARITY_TMPDIR="$made" APPTAINER_TMPDIR="$made" SINGULARITY_CACHEDIR="$made" APPTAINER_CACHEDIR="$made"
cat > "$made/image.def" <<'END-OF-DEFINITION'
{definition(ref, name=name, builder=builder)}END-OF-DEFINITION
if ! {program} build{insecure} "$made/image.sif" "$made/image.def" > "$made/log" 2>&1; then
  tail -n 20 "$made/log" >&2
  grep -qi 'unknown flag\\|flag provided but not defined\\|no such option' "$made/log" && exit {TOO_OLD}
  grep -qi 'no space left\\|disk quota' "$made/log" && exit {FULL}
  exit {NOT_BUILT}
fi
{program} inspect "$made/image.sif" > /dev/null || exit {NOT_BUILT}
sum=$(sha256sum "$made/image.sif") || exit 1
echo "${{sum%% *}}  $(basename "$target")" > "$made/sum" || exit {FULL}
mv "$made/image.sif" "$target" && mv "$made/sum" "$target.sha256" || exit {FULL}
say
"""


def _parsed(ref: str) -> re.Match[str]:
    found = _DIGEST.fullmatch(ref)
    if found is None:
        raise NoDigest(f"{ref!r} names no digest: give NAME@sha256:…, such as the `ref` of a GpuImage")
    return found
