"""Runs inside the built image, without network and without a GPU: does it train, and does TensorBoard show it?"""

import json
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator

import verifying

PROGRAM = "/app/train.py"
SAYS = ("memlock", "stack", "shm_mib", "visible_devices", "device_files", "accuracy")
LEAST = 0.9  # one point in twenty is labelled wrongly on purpose
PAGE = "http://127.0.0.1:6006"


def program_problems(logs: str) -> Iterator[str]:
    """The program says what its process sees, and learns."""
    ran = subprocess.run(["python", PROGRAM, logs], capture_output=True, text=True, timeout=300, check=False)
    said = dict(line.split(" ", 1) for line in ran.stdout.splitlines() if " " in line)
    if ran.returncode or tuple(said) != SAYS:
        yield f"{PROGRAM} ends with {ran.returncode} and says {ran.stdout!r}: {ran.stderr}"
    elif float(said["accuracy"]) < LEAST:
        yield f"{PROGRAM} gets {said['accuracy']} right, which is below {LEAST}"
    if not any(pathlib.Path(logs).iterdir()):
        yield f"{PROGRAM} wrote no scalars"


def page_problems(logs: str) -> Iterator[str]:
    """TensorBoard starts as a container would start it, on loopback alone, and shows what the program wrote."""
    command = ["tensorboard", "--logdir", logs, "--host", "127.0.0.1", "--port", "6006"]
    asks = {f"{PAGE}/": "<html", f"{PAGE}/data/plugin/scalars/tags": json.dumps("accuracy")}
    yield from verifying.server_problems(command, asks)


def problems() -> Iterator[str]:
    """What is not as it should be."""
    yield from verifying.import_problems("numpy", "tensorboard", "tensorboardX")
    with tempfile.TemporaryDirectory(dir="/logs") as logs:
        yield from program_problems(logs)
        yield from page_problems(logs)


if __name__ == "__main__":
    verifying.check(problems(), "a perceptron learns, and TensorBoard shows it")
