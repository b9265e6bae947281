"""Runs inside the built image, without network and without a GPU: is the hub what its spec says, and does it start?"""

from collections.abc import Iterator

import verifying

MODULES = ("jupyterhub", "kubespawner", "jupyterhub_idle_culler", "oauthenticator.generic", "ltiauthenticator.lti13")


def problems() -> Iterator[str]:
    """What is not as it should be."""
    yield from verifying.import_problems(*MODULES)
    yield from verifying.hub_problems("kubespawner.KubeSpawner")


if __name__ == "__main__":
    verifying.check(problems(), "the hub starts")
