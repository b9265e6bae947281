"""Dockerfile instructions as text: RUN with mounts and here-document, apt, quoting. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from imaging.spec.parts import Layout

CA_CONTEXT: Final = "ca"  # named build context: the folder of the site's CA bundle
UV_CACHE: Final = "--mount=type=cache,id=gpu-commons-uv,target=/root/.cache/uv"
PIP_CACHE: Final = "--mount=type=cache,id=gpu-commons-pip,target=/root/.cache/pip"
UV_MOUNT: Final = "--mount=type=bind,from=tools,source=/opt/uv/bin,target=/run/uv"
_CA_FOLDER: Final = "/run/site-ca"


def apt_mounts(layout: Layout) -> list[str]:
    # Debian's and Ubuntu's lists would replace each other in a shared cache. dpkg's logs would change every layer.
    system = "debian" if layout is Layout.DEBIAN else "ubuntu"
    return [
        f"--mount=type=cache,id=gpu-commons-{system}-lists,target=/var/lib/apt/lists,sharing=locked",
        f"--mount=type=cache,id=gpu-commons-{system}-archives,target=/var/cache/apt,sharing=locked",
        "--mount=type=tmpfs,target=/var/log",
    ]


def apt(packages: Iterable[str], ca: str | None) -> list[str]:
    trust = f" --option Acquire::https::CAInfo={_CA_FOLDER}/{ca}" if ca else ""
    return [
        f"apt-get update{trust}",
        command(f"apt-get install --yes --no-install-recommends{trust}", packages),
        "rm -f /var/cache/ldconfig/aux-cache",
    ]


def run_block(mounts: Sequence[str], steps: Sequence[str], ca: str | None, *ca_variables: str) -> str:
    """One RUN. With `ca`, it mounts the bundle, and sets the variables for it in its own shell only."""
    mounts = list(mounts)
    script = ["set -eu"]
    if ca and mounts:
        mounts.append(f"--mount=type=bind,from={CA_CONTEXT},target={_CA_FOLDER}")
        script += [f"export {variable}={_CA_FOLDER}/{ca}" for variable in ca_variables]
    head = " \\\n    ".join(["RUN " + mounts[0], *mounts[1:]]) if mounts else "RUN"
    return "\n".join([f"{head} <<'EOF'", *script, *steps, "EOF"])


def command(start: str, words: Iterable[str]) -> str:
    return " \\\n    ".join([start, *words])


def instruction(name: str, values: Mapping[str, str]) -> str:
    pairs = [f"{key}={_quoted(value)}" for key, value in values.items()]
    return f"{name} " + " \\\n      ".join(pairs)


def _quoted(text: str) -> str:
    """Double-quoted for a Dockerfile; only `${BASE}` is expanded."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("$", "\\$").replace("\\${BASE}", "${BASE}") + '"'
