"""Defaults that stack files and the arguments of components share."""

from typing import Final

DEFAULT_START_TIMEOUT_S: Final = 600  # seconds that a server may take to start, image pull included
RUNTIME_NAMESPACE: Final = "gpu-runtime"  # of the device plugin and the persistence daemon
MOST_RETRIES: Final = 20  # of a job, within two hours: Kubernetes soon waits six minutes before each
