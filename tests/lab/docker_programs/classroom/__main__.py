"""A network, a volume, an image and a container with a health check, on the engine that the configuration names."""

import pulumi
import pulumi_docker as docker

config = pulumi.Config()
opts = pulumi.ResourceOptions(provider=docker.Provider("engine", host=config.require("host")))

network = docker.Network("network", name="classroom", opts=opts)
volume = docker.Volume("homes", name="homes", opts=opts)
image = docker.RemoteImage("image", name=config.require("image"), opts=opts)
server = docker.Container(
    "server",
    name="server",
    image=image.image_id,
    command=["/bin/busybox", "sleep", config.get("sleeps") or "600"],
    init=True,
    mounts=[{"type": "volume", "source": volume.name, "target": "/homes", "read_only": False}],
    networks_advanced=[{"name": network.name, "aliases": ["hub"]}],
    healthcheck={"tests": ["CMD", "/bin/busybox", config.get("health") or "true"], "interval": "1s", "retries": 1},
    wait=True,
    wait_timeout=5,
    opts=opts,
)
pulumi.export("container", server.name)
