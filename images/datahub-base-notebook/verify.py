"""Runs inside the built image, without network and without a GPU: is the notebook server what its spec says?"""

from collections.abc import Iterator

import verifying


def problems() -> Iterator[str]:
    """What is not as it should be."""
    yield from verifying.import_problems("jupyterlab", "jupyterhub.singleuser", "nbgitpuller", "ipykernel")
    yield from verifying.run_problems(["git", "--version"], "git version")
    yield from verifying.single_user_problems()
    yield from verifying.lab_problems({"/api/status": "kernels"})
    yield from verifying.kernel_problems()


if __name__ == "__main__":
    verifying.check(problems(), "server and kernel start")
