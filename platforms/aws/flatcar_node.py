"""A Flatcar GPU node: its complete config, and the user data of its first boot. Pure.

config = node_config(release, driver, joining, users=(User(name="core", ssh_keys=(key,)),))
user_data = render(config, keys=resolved)
"""

from collections.abc import Sequence

from platforms.aws.flatcar import joining as join
from platforms.aws.flatcar import units
from platforms.aws.flatcar.driver import Driver
from platforms.aws.flatcar.ignition import Config, Contents, File, Link, User, render
from platforms.aws.flatcar.joining import Cluster, Joining
from platforms.aws.flatcar.releases import Release
from platforms.aws.node_group import NodeGroup

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


def user_data(group: NodeGroup, cluster: Cluster, public_keys: Sequence[str]) -> str:
    """The rendered config. `public_keys` are the values of `flatcar.ssh_keys`, in order.

    Raises ValueError for an invalid key and for a config above EC2's limit.
    """
    image, keys = group.flatcar_image, group.flatcar
    assert keys is not None  # noqa: S101 - `flatcar_image` has checked it
    references = keys.key_references
    joining = Joining(
        cluster,
        keys.programs.programs,
        vcpu=int(group.shape.vcpu),
        max_pods=keys.max_pods,
        labels=group.node_labels,
        taints=group.node_taints,
    )
    users = (User(name="core", ssh_keys=references),) if references else ()
    config = node_config(image.release, image.source, joining, users)
    return render(config, keys=dict(zip(references, public_keys, strict=True)))
