"""Trains a perceptron for a few seconds, and says first what the engine gave to its process.

    python /app/train.py [LOGS]

Prints one `name value` a line: limits (soft, in bytes, or `unlimited`), the size of /dev/shm in MiB, which GPUs were
asked for and whose device files are there; at the end the part of unseen points that it gets right. Scalars for
TensorBoard go into the folder LOGS, by default /logs.
"""

import os
import pathlib
import resource
import sys
from collections.abc import Iterator

import numpy as np
from tensorboardX import SummaryWriter

MIB = 2**20
POINTS, SIZE, NOISE, EPOCHS = 20_000, 32, 0.05, 25
NONE = "none"


def process() -> Iterator[tuple[str, str]]:
    """What this process sees of what it was started with."""
    yield "memlock", limit(resource.RLIMIT_MEMLOCK)
    yield "stack", limit(resource.RLIMIT_STACK)
    shm = os.statvfs("/dev/shm")  # noqa: S108 - shared memory, not a file
    yield "shm_mib", str(shm.f_blocks * shm.f_frsize // MIB)
    yield "visible_devices", os.environ.get("NVIDIA_VISIBLE_DEVICES") or NONE
    yield "device_files", ",".join(sorted(map(str, pathlib.Path("/dev").glob("nvidia*")))) or NONE


def limit(number: int) -> str:
    soft, _ = resource.getrlimit(number)
    return "unlimited" if soft == resource.RLIM_INFINITY else str(soft)


def points(random: np.random.Generator, count: int, line: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points on both sides of a hyperplane and their sides, 1 or -1; a few are said to be on the wrong one."""
    found = random.normal(size=(count, line.size))
    sides = np.sign(found @ line)
    return found, np.where(random.random(count) < NOISE, -sides, sides)


def accuracy(weights: np.ndarray, given: tuple[np.ndarray, np.ndarray]) -> float:
    found, sides = given
    return float(np.mean(np.sign(found @ weights) == sides))


def train(logs: str) -> float:
    """Rosenblatt's rule, point by point. The mean of all weights is kept: noise moves the last ones to and fro."""
    random = np.random.default_rng(1958)
    line = random.normal(size=SIZE)
    known, unseen = points(random, POINTS, line), points(random, POINTS, line)
    weights, total = np.zeros(SIZE), np.zeros(SIZE)
    with SummaryWriter(logs) as writer:
        for epoch in range(EPOCHS):
            mistakes = 0
            for point, side in zip(*known, strict=True):
                if side * (point @ weights) <= 0:
                    weights += side * point
                    mistakes += 1
                total += weights
            writer.add_scalar("mistakes", mistakes, epoch)
            writer.add_scalar("accuracy", accuracy(total, unseen), epoch)
    return accuracy(total, unseen)


if __name__ == "__main__":
    for name, value in process():
        print(name, value, flush=True)
    print(f"accuracy {train(sys.argv[1] if len(sys.argv) > 1 else '/logs'):.2f}")
