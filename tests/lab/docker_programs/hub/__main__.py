"""The servers of a hub `lab`, on the engine that the configuration names."""

import pulumi

from components.on_docker.hub_servers import HubServers

HubServers("lab-servers", {"hub": "lab", "engine": pulumi.Config().require("host")})
