"""The arguments of components, written from the models that read their values: `make docs`.

Only keys that no model has are described here. tests/test_docs.py says when a module is behind its models.
"""

from __future__ import annotations

from typing import Final

from imaging.spec import hub_description
from platforms.docker import hub_model as docker_hub
from tools.typed_dicts import Key, Module, Shape, texts
from workloads import authenticator, hub

NOTEBOOK_HUB: Final = Module(
    "components.on_kubernetes.notebook_hub_args",
    "NotebookHub",
    (
        Shape("HubToleration", (hub.Toleration,)),
        Shape("HubContents", (hub_description.Contents,)),
        Shape("HubProfile", (hub.Profile,)),
        Shape("HubExpose", (hub.NodePort, hub.LoadBalancer, hub.ClusterIp), "How users reach the proxy."),
        Shape(
            "HubSecretKey",
            (authenticator.SecretKey,),
            "A key of a Kubernetes Secret in the hub's namespace. You create the Secret; Pulumi never sees its value.",
        ),
        Shape(
            "HubAuthenticator",
            (
                authenticator.OAuthAuthenticator,
                authenticator.Lti13Authenticator,
                authenticator.ListingDummyAuthenticator,
            ),
            "Login method.",
            also=(
                Key(
                    "allow_all",
                    "bool",
                    "Every authenticated user may log in; default true, but false with oauth or a list of users.",
                ),
            ),
        ),
        Shape("HubCull", (hub.Cull,)),
        Shape("HubCourse", (hub.Course,)),
        Shape("NotebookHubArgs", (hub.Hub,), "Arguments of NotebookHub. Times in seconds, sizes in GiB."),
    ),
)
DOCKER_HUB: Final = Module(
    "components.on_docker.docker_hub_args",
    "DockerHub",
    (
        Shape("HubKernel", (docker_hub.Kernel,), without=frozenset({"ipc"})),
        Shape("HostedProfile", (docker_hub.Profile,), without=frozenset({"pools", "ipc"})),
        Shape("HostExpose", (docker_hub.HostPort,)),
        Shape("HubCard", (docker_hub.HostedCard,)),
        Shape("DockerHubArgs", (docker_hub.Hub,), "Arguments of DockerHub. Times in seconds, sizes in GiB."),
    ),
)
MODULES: Final = (NOTEBOOK_HUB, DOCKER_HUB)


def modules() -> dict[str, str]:
    """Path of every generated module, below the project, with its text."""
    return texts(MODULES, "tools/component_arguments.py")
