"""Runs inside the built image, without network and without a GPU: has it the modules of its spec, and no compiler?"""

import pathlib
import platform
import subprocess
from collections.abc import Iterator

import verifying

MODULES = verifying.FACTS["modules"]
KERNEL, DRIVER = MODULES["kernel"], MODULES["driver"]
FOLDER = pathlib.Path("/opt/driver/lib/modules", KERNEL)
NAMES = ("nvidia", "nvidia-uvm", "nvidia-modeset")
LIBRARIES = ("libcuda1", "libnvidia-ml1", "nvidia-smi", "nvidia-modprobe", "firmware-nvidia-gsp")
COMPILERS = ("gcc", "cc", "make", "ld", "dpkg-buildpackage")
SOURCES = ("/usr/src/*", "/usr/include/*", "/driver", "/out", "/usr/share/doc/linux-headers*")


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def module_problems() -> Iterator[str]:
    """Each module is there under its name, of the driver and for the kernel of the spec, and no other."""
    found = {path.name for path in FOLDER.rglob("*.ko*")}
    if found != {f"{name}.ko" for name in NAMES}:
        yield f"{FOLDER} holds {', '.join(sorted(found)) or 'no module'}"
    for name in NAMES:
        path = str(FOLDER / "extra" / f"{name}.ko")
        magic, version = said("modinfo", "-F", "vermagic", path), said("modinfo", "-F", "version", path)
        if magic.split()[0] != KERNEL:
            yield f"{name} is for kernel {magic.split()[0]}, the spec says {KERNEL}"
        if name != "nvidia-uvm" and version != DRIVER:  # uvm has no version in this branch
            yield f"{name} is of driver {version}, the spec says {DRIVER}"


def order_problems() -> Iterator[str]:
    """Modprobe knows, for this kernel, what a module needs first."""
    for name in ("nvidia-uvm", "nvidia-modeset"):
        needed = said("modprobe", "--dirname", "/opt/driver", "--set-version", KERNEL, "--show-depends", name)
        if "/nvidia.ko" not in needed:
            yield f"{name} does not ask for nvidia first: {needed}"


def library_problems() -> Iterator[str]:
    """Libraries and programs of another driver than its modules do not work with them."""
    for name in LIBRARIES:
        version = said("dpkg-query", "--show", "--showformat", "${Version}", name)
        if not version.startswith(f"{DRIVER}-"):
            yield f"{name} is {version}, the modules are of driver {DRIVER}"


def leftover_problems() -> Iterator[str]:
    """What the first stage needs and an image must not have."""
    for name in COMPILERS:
        if subprocess.run(["/bin/sh", "-c", f"command -v {name}"], capture_output=True, check=False).returncode == 0:
            yield f"{name} is in the image: the compiler belongs into the stage before"
    for pattern in SOURCES:
        yield from (f"{path} is in the image" for path in pathlib.Path("/").glob(pattern[1:]))


def loading_problems() -> Iterator[str]:
    """On another kernel it says so, names both, and loads nothing; on this one there is no GPU."""
    if platform.release() == KERNEL:
        verifying.skipped("loading the modules", "this machine has no GPU")
        return
    ran = subprocess.run(["load-driver"], capture_output=True, text=True, check=False)
    expected = f"this image holds modules for kernel {KERNEL}; the node runs kernel {platform.release()}\n"
    if (ran.returncode, ran.stderr) != (1, expected):
        yield f"on kernel {platform.release()}, load-driver ends with {ran.returncode} and says {ran.stderr!r}"
    verifying.skipped("loading the modules", f"this machine runs kernel {platform.release()}")


def problems() -> Iterator[str]:
    """What is not as it should be."""
    for found in (module_problems, order_problems, library_problems, leftover_problems, loading_problems):
        yield from found()


if __name__ == "__main__":
    verifying.check(problems(), "its modules are for the kernel of its key, and it has no compiler")
