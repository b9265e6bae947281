"""Runs inside the built image, without network and without a GPU: does the gateway offer kernels to its owner only?"""

from collections.abc import Iterator

import verifying

SPECS = "http://127.0.0.1:8888/api/kernelspecs"
COMMAND = ["jupyter", "kernelgateway", "--KernelGatewayApp.ip=127.0.0.1", "--KernelGatewayApp.port=8888"]
TOKEN = {"KG_AUTH_TOKEN": "verify"}


def problems() -> Iterator[str]:
    """What is not as it should be: who has the token sees the kernels, and nobody else."""
    yield from verifying.import_problems("kernel_gateway", "docker", "jupyter_client.provisioning")
    yield from verifying.extra_problems("jupyterhub", "dockerspawner")
    answers = {SPECS: '"kernelspecs"'}
    yield from verifying.server_problems(COMMAND, answers, env=TOKEN, token=TOKEN["KG_AUTH_TOKEN"], closed=[SPECS])


if __name__ == "__main__":
    verifying.check(problems(), "the gateway answers who has its token")
