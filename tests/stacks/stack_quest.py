"""quest: a hub on a site with Slurm, where each server is a job of its user's account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hub_browser import choose, log_in, open_notebook, run_cell
from own_lab import OwnLab, own_lab

from lab.cluster import wait_until
from lab.machine import machine_account
from lab.servers import slurm_files
from tests.lab import slurm_labs
from tests.stacks.contract import Contract, Window

HUB = "quest"
ONE, TWO = "One GPU for four hours", "All GPUs of a node for an hour"
KERNEL = "Python 3 (ipykernel)"
SEES = "import getpass, os; print(getpass.getuser(), os.environ['CUDA_VISIBLE_DEVICES'], os.environ['SLURM_JOB_ID'])"
SEEN = re.compile(r"^\S+ [\d,]+ \d+\s*$")


@contextmanager
def new_lab(stack: str) -> Iterator[OwnLab]:
    """With that stack; the accounts of its users are gone afterwards."""
    with own_lab(stack) as lab:
        names = [slurm_files.hub_account(lab.instance), account(lab, "ada"), account(lab, "bob")]
        yield lab
    assert not any(machine_account.exists(name) for name in names)


def account(lab: OwnLab, user: str) -> str:
    return slurm_files.person_account(lab.instance, user)


def state(lab: OwnLab) -> Path:
    """Where the account of hubs keeps this one's."""
    home = slurm_files.home_of(lab.instance, slurm_files.hub_account(lab.instance))
    return home / ".gpu-commons" / "hubs" / HUB


def password(lab: OwnLab) -> str:
    return (state(lab) / "credentials" / "login-password").read_text().strip()


def queue(lab: OwnLab) -> dict[str, tuple[str, str]]:
    """Jobs of the hub that Slurm has: account → number and GPUs."""
    shown = slurm_labs.queue(lab.instance, "%u %i %b", "-n", HUB)
    return {name: (number, gpus) for name, number, gpus in shown}


def use(lab: OwnLab, window: Window) -> None:
    """Two users run a cell each, in a job of their own account, on devices of their own."""
    url = lab.output_of("hubs")[HUB]
    assert url in lab.output
    seen = {}
    for user, title in (("ada", ONE), ("bob", TWO)):
        page = window()
        log_in(page, url, user, password(lab))
        choose(page, title)
        open_notebook(page, "Python 3", within_s=300, idle=KERNEL)
        seen[user] = run_cell(page, SEES, SEEN).split()
    jobs = queue(lab)
    assert {*jobs} == {account(lab, "ada"), account(lab, "bob")}
    assert seen["ada"] == [account(lab, "ada"), "0", jobs[account(lab, "ada")][0]]
    assert seen["bob"] == [account(lab, "bob"), "0,1", jobs[account(lab, "bob")][0]]


def left(lab: OwnLab) -> None:
    wait_until(lambda: {*queue(lab)}, within_s=60, what="jobs of users outlive their hub")
    assert (state(lab) / "jupyterhub.sqlite").exists()
    assert not (slurm_files.image_store(lab.instance) / "hubs" / HUB).exists()


CONTRACT = Contract(
    HUB,
    printed=(r"hub quest: https://", "log in as ada or bob"),
    use=use,
    other_driver="390.157",
    refusal=r"P-RUN: .{0,80}cupy-cuda11-notebook\S* does not run on pool gpu \(driver 390\.157\)",
    left=left,
    new_lab=new_lab,
)
