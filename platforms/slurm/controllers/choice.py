"""Chooses the access to a site's Slurm."""

from platforms.slurm.controllers import Controller
from platforms.slurm.controllers.commands import Commands
from platforms.slurm.controllers.rest import Rest
from platforms.slurm.site_model import SlurmAccess


def controller_of(site: SlurmAccess) -> Controller:
    """Its REST service, if any, else its commands."""
    return Rest(site.rest) if site.rest else Commands(site)
