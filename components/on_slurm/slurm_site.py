"""SlurmSite: a Slurm cluster, checked against the pools of the stack."""

from collections.abc import Mapping

import pulumi

from components.on_slurm.site import site_of
from components.on_slurm.slurm_site_args import SlurmPool, SlurmSiteArgs
from errors import UserError
from platforms.slurm.controllers.choice import controller_of
from platforms.slurm.controllers.files import program_version
from platforms.slurm.partition_model import PartitionKeys
from platforms.slurm.site_facts import DeclaredPool, SiteFacts, refusals, remarks
from platforms.slurm.site_model import SlurmAccess
from workloads.arguments import plain


class SlurmSite(pulumi.ComponentResource):
    """Creates nothing: it queries the controller and refuses a stack that does not match."""

    facts: pulumi.Output[Mapping[str, str]]
    """Facts about the partitions, by label."""

    def __init__(self, name: str, args: SlurmSiteArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        try:
            site = site_of(args["site"])
            facts = controller_of(site).facts()
            version = program_version(site)
        except UserError as error:
            raise pulumi.RunError(f"site {name}: {error}") from None
        pools = [_declared(each) for each in args["pools"]]
        if found := [*refusals(facts, pools), *_of_program(site, version)]:
            raise pulumi.RunError(f"site {name} is not what the stack says: {'; '.join(found)}")
        for each in remarks(facts, pools):
            pulumi.log.warn(f"site {name}: {each}")
        super().__init__("gpu-commons:index:SlurmSite", name, {**args}, opts)
        self.facts = pulumi.Output.from_input(_rows(facts, site, version))
        self.register_outputs({"facts": self.facts})


def _declared(pool: SlurmPool) -> DeclaredPool:
    given = plain(pool)
    keys = PartitionKeys.model_validate({key: given[key] for key in PartitionKeys.model_fields if key in given})
    return DeclaredPool(given["pool"], keys, given["nodes"], given["gpus_per_node"])


def _of_program(site: SlurmAccess, version: str | None) -> list[str]:
    """Checks that the container program exists in the proved version."""
    if version is None:
        return [f"{site.program} is not where Slurm's commands are: correct program, or write its absolute path"]
    if site.program_version and site.program_version.partition("-")[0] != version:
        return [f'{site.program} is {version} and not {site.program_version}: write program_version: "{version}"']
    return []


def _rows(facts: SiteFacts, site: SlurmAccess, version: str | None) -> dict[str, str]:
    return {**dict(facts.rows()), site.program.rpartition("/")[2]: version or "not known"}
