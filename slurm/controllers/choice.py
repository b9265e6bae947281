"""Which way a site's Slurm is spoken to."""

from slurm.controllers import Controller
from slurm.controllers.commands import Commands
from slurm.controllers.rest import Rest
from slurm.site_model import SlurmAccess


def controller_of(site: SlurmAccess) -> Controller:
    """Its REST service where it has one, else its commands."""
    return Rest(site.rest) if site.rest else Commands(site)
