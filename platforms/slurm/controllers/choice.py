"""Which way a site's Slurm is spoken to."""

from platforms.slurm.controllers import Controller
from platforms.slurm.controllers.commands import Commands
from platforms.slurm.controllers.rest import Rest
from platforms.slurm.site_model import SlurmAccess


def controller_of(site: SlurmAccess) -> Controller:
    """Its REST service where it has one, else its commands."""
    return Rest(site.rest) if site.rest else Commands(site)
