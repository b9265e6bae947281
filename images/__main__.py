"""`python -m images render IMAGE` prints a Dockerfile; `python -m images lock IMAGE` the command that locks wheels."""

import sys

from images.load import IMAGES, SpecError, load_family, read_spec
from images.render import render_dockerfile

USAGE = "usage: python -m images render|lock IMAGE"


def main(arguments: list[str]) -> int:
    """0 and the answer on stdout; 2 and one message on stderr."""
    try:
        match arguments:
            case ["render", name]:
                print(render_dockerfile(load_family(name)), end="")
            case ["lock", name]:
                print(lock_command(name))
            case _:
                print(USAGE, file=sys.stderr)
                return 2
    except SpecError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def lock_command(name: str) -> str:
    """Shell line that resolves the pins of an image anew. A child takes over what its parent has already."""
    spec = read_spec(IMAGES / name)
    if not spec.python:
        return f"echo '{name} has no Python packages'"
    pins = " ".join(f"'{pin}'" for pin in spec.server_wheels)
    parent = f" --constraint images/{spec.base.image}/requirements.lock" if spec.base.image else ""
    # Debian 12 has Python 3.11; a Jupyter base has a later one. A universal lock serves both.
    return (
        f"printf '%s\\n' {pins} | uv pip compile - --universal --python-version 3.11 --generate-hashes"
        f" --only-binary :all: --no-annotate --no-header{parent} --output-file images/{name}/{spec.python.lock}"
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
