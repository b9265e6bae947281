"""The complete config of a Flatcar GPU node, assembled from its parts. Pure.

config = node_config(release, driver, joining, users=(User(name="core", ssh_keys=(key,)),))
user_data = render(config, keys=resolved)
"""

from __future__ import annotations

from platforms.aws.flatcar import joining as join
from platforms.aws.flatcar import units
from platforms.aws.flatcar.driver import Driver
from platforms.aws.flatcar.ignition import Config, Contents, File, Link, User
from platforms.aws.flatcar.joining import Joining
from platforms.aws.flatcar.releases import Release

_TOOLKIT = "/opt/extensions/nvidia-runtime.raw"


def node_config(release: Release, driver: Driver, joining: Joining, users: tuple[User, ...] = ()) -> Config:
    """Config of a node with this release and driver; raises ValueError if modules and kernel do not match."""
    if misfit := driver.key.misfit(release.kernel_release, release.os):
        raise ValueError(misfit)
    toolkit = joining.programs.toolkit
    return Config(
        users=users,
        directories=units.directories(),
        files=(
            *units.files(driver),
            File(path=_TOOLKIT, contents=Contents.download(toolkit.url, toolkit.sha256)),
            *join.files(joining),
        ),
        links=(Link(path="/etc/extensions/nvidia-runtime.raw", target=_TOOLKIT),),
        units=(*units.units(driver, release), join.unit(joining, units.before_the_kubelet(driver))),
    )
