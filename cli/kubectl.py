"""Queries a cluster through kubectl and its logins."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from errors import UserError
from errors.redaction.texts import without_secrets

_WITHIN_S: Final = 20
_AT_ONCE: Final = 500  # objects in one answer, kubectl's own default


class ClusterUnreachable(UserError):  # noqa: N818 - says what is the matter
    """The cluster does not answer; the message says why and what to do."""


class KubectlFailed(ClusterUnreachable):
    """kubectl ended with an error; the message is kubectl's own."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster that kubectl uses; None: the current context of KUBECONFIG."""

    kubeconfig: str | None
    context: str | None


def listed(cluster: Cluster, path: str, **query: str) -> list[dict[str, Any]]:
    """All objects at an API path such as `/api/v1/nodes`, also with a query of its own. Raises ClusterUnreachable."""
    objects: list[dict[str, Any]] = []
    mark = "&" if "?" in path else "?"
    while True:
        answer = _get(cluster, f"{path}{mark}{urlencode({'limit': _AT_ONCE, **query})}")
        objects += answer.get("items") or []
        if not (more := (answer.get("metadata") or {}).get("continue")):
            return objects
        query["continue"] = more


def run(cluster: Cluster, *words: str, stdin: str = "") -> str:
    """Output of kubectl for these arguments, with `stdin` as input. Raises ClusterUnreachable."""
    program = shutil.which("kubectl")
    if program is None:
        raise ClusterUnreachable("kubectl is not on PATH; install it: this command reads the cluster through it")
    chosen = [
        *(("--kubeconfig", cluster.kubeconfig) if cluster.kubeconfig else ()),
        *(("--context", cluster.context) if cluster.context else ()),
    ]
    argv = [program, *chosen, f"--request-timeout={_WITHIN_S}s", *words]
    try:
        done = subprocess.run(argv, input=stdin.encode(), capture_output=True, timeout=3 * _WITHIN_S, check=False)
    except OSError as error:
        raise ClusterUnreachable(f"kubectl cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ClusterUnreachable(f"kubectl did not finish within {3 * _WITHIN_S} s") from None
    if done.returncode:
        errors = done.stderr.decode(errors="replace").strip().splitlines() or ["it failed without a message"]
        message = without_secrets(errors[-1].removeprefix("error: ").removeprefix("Error from server "))
        raise KubectlFailed(f"kubectl reported: {message}")
    return done.stdout.decode(errors="replace")


def _get(cluster: Cluster, path: str) -> dict[str, Any]:
    try:
        answer = run(cluster, "get", "--raw", path)
    except KubectlFailed as error:
        raise KubectlFailed(f"{error}; check KUBECONFIG, or kubeconfig and kube_context of the site") from None
    try:
        return dict(json.loads(answer))
    except ValueError:
        raise ClusterUnreachable(f"the answer to {path} is not JSON") from None
