"""Stages of a driver container: source, then modules built with a compiler, then the image, which has neither. Pure.

The compiling stage only mounts the source, so no layer of it or of the image has it; the image takes three files of
that stage. Each step reports its size, because discarded stages fill the builder's disk too.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from imaging.build.instructions import apt, apt_mounts, command, run_block
from imaging.spec.parts import Modules
from imaging.spec.plan import Plan

NAMES: Final = ("nvidia", "nvidia-uvm", "nvidia-modeset")  # in the order in which they load
PLACE: Final = "/opt/driver"  # modprobe finds them here: a folder of its own, beside the node's /lib/modules
SOURCE_STAGE: Final = "driver-source"
MODULES_STAGE: Final = "modules"
_MARK: Final = "thrown away,"
_COMPILER: Final = ("gcc", "kmod", "libc6-dev", "make")


@dataclass(frozen=True, slots=True)
class StepSize:
    """Disk use of a build step that is in no image."""

    what: str
    bytes: int


def stages(plan: Plan, modules: Modules, ca: str | None) -> list[str]:
    """The stages before the image."""
    return [_source(plan, modules, ca), _built(plan, modules, ca)]


def contents(modules: Modules) -> str:
    """Files that the image copies."""
    return f"COPY --link --from={MODULES_STAGE} /out/lib/modules/{modules.kernel} {PLACE}/lib/modules/{modules.kernel}"


def sources(components: Iterable[str]) -> list[str]:
    """Shell lines that add components to each Debian package source, in both of apt's formats."""
    more = " ".join(components)
    if not more:
        return []
    lists = "/etc/apt/sources.list /etc/apt/sources.list.d/*"
    each = f"sed -i -E 's/^(deb .* main|Components: main)$/\\1 {more}/' \"$list\""
    return [f'for list in {lists}; do if [ -f "$list" ]; then {each}; fi; done']


def _source(plan: Plan, modules: Modules, ca: str | None) -> str:
    name = modules.source.partition("=")[0]
    wrong = f'echo "{name} is $found, the spec says {modules.driver}" >&2; exit 1'
    steps = [
        *sources(modules.components),
        *apt(["xz-utils"], ca),
        "mkdir /driver",
        "cd /driver",
        f"apt-get download {modules.source}",
        "found=$(dpkg-deb --field ./*.deb Version)",
        f'case "$found" in {modules.driver}-*) ;; *) {wrong};; esac',
        "dpkg-deb --extract ./*.deb deb",
        "tar --extract --file deb/usr/src/*.tar.xz",
        "rm -r deb ./*.deb",
        _size_of("source", "/driver"),
    ]
    return f"FROM base AS {SOURCE_STAGE}\n{run_block(apt_mounts(plan.layout), steps, ca)}"


def _built(plan: Plan, modules: Modules, ca: str | None) -> str:
    kernel = shlex.quote(modules.kernel)
    lines = [f"FROM {modules.headers_image or 'base'} AS {MODULES_STAGE}"]
    if modules.headers:
        install = [
            *apt(sorted({*_COMPILER, *modules.headers}), ca),
            _size_of("base with compiler and headers", "/usr"),
        ]
        lines.append(run_block(apt_mounts(plan.layout), install, ca))
    names = " ".join(NAMES)
    left_out = "nvidia-drm nvidia-peermem"
    steps = [
        "cd /run/driver/modules/*/",
        command(
            f'make --jobs "$(nproc)" KERNEL_UNAME={kernel}', [f"NV_EXCLUDE_KERNEL_MODULES='{left_out}'", "modules"]
        ),
        f"mkdir --parents /out/lib/modules/{kernel}/extra",
        f"for module in {names}; do",
        f'  strip --strip-debug -o "/out/lib/modules/{kernel}/extra/$module.ko" "$module.ko"',
        "done",
        f"depmod --basedir /out {kernel}",
        _size_of("source with objects", "/run/driver"),
    ]
    source = f"--mount=type=bind,from={SOURCE_STAGE},source=/driver,target=/run/driver,rw"
    # Not run_block: nothing is downloaded here, so the site's CA is not needed.
    lines.append(command("RUN --network=none", [source]) + " <<'EOF'\n" + "\n".join(["set -eu", *steps, "EOF"]))
    return "\n\n".join(lines)


def _size_of(what: str, place: str) -> str:
    """A line of the build log: disk use of a step that no image keeps."""
    return f"printf '{_MARK} {what}: %s\\n' \"$(du --summarize --block-size=1 {place})\""


def step_size(line: str) -> StepSize | None:
    """Reads the size of a discarded step from a builder's line; None for any other line."""
    found = re.search(rf"{_MARK} (?P<what>[a-z ]+): (?P<bytes>\d+)\s", line)
    return StepSize(found["what"], int(found["bytes"])) if found else None
