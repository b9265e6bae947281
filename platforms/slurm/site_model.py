"""Model of a Slurm site in a stack file: its access, container program and image store.

Partitions are pools of the fleet: `partition_model`. Names and formats follow Slurm's documentation
(https://slurm.schedmd.com/slurm.conf.html, https://slurm.schedmd.com/rest.html).
"""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from errors.agreements import check
from errors.faults import FORM, Misfit, matching, quoted
from errors.problems import Fault
from workloads.addresses import Registry
from workloads.amounts import Count
from workloads.names import AbsolutePath, FilePath, Line, UserName

_SSH: Final = re.compile(r"([A-Za-z_][-A-Za-z0-9_.]*@)?[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?")
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


_host = matching(_SSH, "is not an address for ssh", "write user@host, or host; the port is a key of its own")
_inside = matching(
    r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?",
    "is not a name or an address of a login node",
    "write one that nodes reach: login-1.cluster",
)


def _account(value: str) -> str:
    if not re.fullmatch(r"[a-z_][-a-z0-9_.]{0,31}", value):
        raise Misfit("is not an account of a cluster", "write the user's name as id -un prints it on the login node")
    if value == "root":
        raise Misfit("is root, which no job runs as", "write the account that the user has on the cluster")
    return value


def _login(value: str) -> str:
    if value != value.lower():
        raise Misfit("has capital letters, which JupyterHub makes small", f"write {value.lower()}")
    return value


def _rest(value: str) -> str:
    fix = "write unix:///run/slurmrestd/slurmrestd.socket, or https://host:6820"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise Misfit("is not an address of slurmrestd", fix) from None
    if "@" in parts.netloc:
        raise Misfit("holds a user or a password", "remove it: the user is a key of its own, the token is in a file")
    if parts.scheme == "unix" and not parts.netloc and re.fullmatch(r"/[\w./@+-]+", parts.path):
        return value
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise Misfit("sends its token in clear text", "write https://…, or the socket of slurmrestd")
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or parts.path.strip("/"):
        raise Misfit("is not an address of slurmrestd", fix)
    return value


_program = matching(
    r"(?!(.*/)?\.\.(/|$))(/[^\s:,]+/)?[A-Za-z][\w.+-]*",
    "is not a program",
    "write apptainer or singularity, or its absolute path on the nodes",
)
_version = matching(
    r"(?a)\d{1,3}\.\d{1,3}(\.\d{1,3})?(-[\w.]+)?",
    "is not a version",
    'write what it prints for --version: program_version: "1.5.2"',
)
_api = matching(
    r"v0\.0\.\d{2}",
    "is not a version of Slurm's REST interface",
    "write one that this slurmrestd has, such as v0.0.42: slurmrestd -d list prints them",
)
_module = matching(r"[\w.+-]+(/[\w.+-]+)*", "is not the name of a module", "write it as module avail does: cuda/9.2")
ProgramVersion = Annotated[str, BeforeValidator(quoted), _version]
ModuleName = Annotated[str, _module]


class LocalAccess(BaseModel):
    """Slurm's commands run on the machine of the update."""

    model_config = FORM
    kind: Literal["local"] = Field(description="Slurm's commands and the image store are on this machine.")


class SshAccess(BaseModel):
    """Slurm's commands run on a login node. ssh never prompts for a password and always checks the host key."""

    model_config = FORM
    kind: Literal["ssh"] = Field(description="Slurm's commands and the image store are on a login node.")
    address: Annotated[str, _host] = Field(description="Login node: user@host, or host.")
    port: int = Field(22, ge=1, le=65535, description="Port of its ssh.")
    identity: FilePath | None = Field(None, description="File of the private key; none: those that ssh tries itself.")
    known_hosts: FilePath | None = Field(
        None, description="File with the key of the host, which must be in it; none: the user's own."
    )


Access = Annotated[LocalAccess | SshAccess, Field(discriminator="kind")]


class SlurmRest(BaseModel):
    """Slurm's REST service for jobs; files still use `access`."""

    model_config = FORM
    url: Annotated[str, AfterValidator(_rest)] = Field(
        description="Where slurmrestd answers: unix:///run/slurmrestd/slurmrestd.socket or https://host:6820."
    )
    version: Annotated[str, _api] = Field(description="Version of the interface that is spoken: v0.0.42.")
    user: Line | None = Field(None, description="User that the token is for; none: the user at the socket.")
    token_file: FilePath | None = Field(
        None, description="File with a token of scontrol token; it is read in each run and never stored."
    )

    @check
    def _login_at_a_port(self) -> Iterator[Fault]:
        for key, what in (("user", "the user that the token is for"), ("token_file", "a file with its token")):
            if self.url.startswith("http") and getattr(self, key) is None:
                yield Fault((key,), "is missing for slurmrestd at a port", f"add {key}: {what}")


def _user_of(access: Access) -> str:
    """The account in user@host; empty without one."""
    user, at, _ = access.address.partition("@") if isinstance(access, SshAccess) else ("", "", "")
    return user if at else ""


class HubsHere(BaseModel):
    """Shared settings of a site's hubs: the hubs' account and the users' accounts."""

    model_config = FORM
    access: Access = Field(
        description="How the account that hubs run as is reached on the login node: one of its own, never root."
    )
    inside: Annotated[str, _inside] = Field(
        description="Name or address of the login node by which the nodes reach it."
    )
    identity: AbsolutePath = Field(
        description="File of the login node with the private key by which hubs start and end jobs as their users; "
        "readable for the account that hubs run as, and nobody else."
    )
    known_hosts: AbsolutePath = Field(
        "/etc/ssh/ssh_known_hosts", description="File of the login node with its own key, for 127.0.0.1."
    )
    port: int = Field(22, ge=1, le=65535, description="Port of the login node's ssh, on 127.0.0.1.")
    accounts: dict[Annotated[UserName, AfterValidator(_login)], Annotated[str, AfterValidator(_account)]] = Field(
        min_length=1, description="The account that each user of the hubs has on the cluster; nobody else may log in."
    )


class SlurmAccess(BaseModel):
    """One Slurm cluster: access, container program, image store."""

    model_config = FORM
    access: Access = Field(description="How its commands and files are reached: on this machine, or by ssh.")
    rest: SlurmRest | None = Field(None, description="Its REST service; none: its commands submit and follow jobs.")
    program: Annotated[str, _program] = Field(
        "apptainer", description="What starts images on the nodes: apptainer, singularity, or an absolute path."
    )
    program_version: ProgramVersion | None = Field(
        None, description='Its version, quoted: "1.5.2"; none: not known, and no option that only some versions have.'
    )
    image_store: AbsolutePath = Field(
        description="Folder for images that login and compute nodes share, and that nobody purges."
    )
    scratch: tuple[AbsolutePath, ...] = Field((), description="Folders that are purged: no image is kept in them.")
    config: AbsolutePath | None = Field(
        None, description="slurm.conf for the commands (SLURM_CONF); none: that of the site."
    )
    account: Line | None = Field(None, description="Account of jobs that name none; none: the user's own.")
    hubs: HubsHere | None = Field(None, description="What hubs need here; none: no hub can run.")
    insecure_registries: tuple[Registry, ...] = Field(
        (), description="Registries without TLS, host[:port], which images may be pulled from: those of a lab."
    )
    modules: tuple[ModuleName, ...] = Field(
        (),
        description="Environment modules of the site, such as cuda/9.2. No job loads one: images bring what they need.",
    )
    poll_s: Count = Field(5, description="Seconds between two looks at the jobs of an update, all at once.")

    @check
    def _lasting_store(self) -> Iterator[Fault]:
        store = self.image_store
        if folder := next((each for each in self.scratch if is_inside(store, each)), ""):
            fix = "choose a folder that nobody purges: jobs fail on the day when their image is gone"
            yield Fault(("image_store",), f"is in {folder}, which is scratch", fix, store)
        elif folder := next((each for each in OF_ONE_NODE if is_inside(store, each)), ""):
            fix = "choose a folder that login and compute nodes share, such as /projects/gpu-commons/images"
            yield Fault(("image_store",), f"is in {folder}, which each node has for itself", fix, store)

    @check
    def _accounts_of_hubs(self) -> Iterator[Fault]:
        if self.hubs is None:
            return
        own = self.hubs.access
        if own == self.access:
            fix = "name an account of their own: who runs hubs must not be able to change what their users' jobs are"
            yield Fault(("hubs", "access"), "is the access of the stack", fix)
        if _user_of(own) == "root" and isinstance(own, SshAccess):
            fix = "name an account of their own, without any right"
            yield Fault(("hubs", "access", "address"), "is root", fix, own.address)

    @check
    def _accounts_of_users(self) -> Iterator[Fault]:
        if self.hubs is None:
            return
        owners: dict[str, str] = {}
        of_others = {_user_of(self.hubs.access): "hubs", _user_of(self.access): "the stack"}
        for user, account in self.hubs.accounts.items():
            loc = ("hubs", "accounts", user)
            if account in owners:
                fix = "give each user an account of their own: otherwise one user could end the other's servers"
                yield Fault(loc, f"is that of {owners[account]} too", fix, account)
            elif account in of_others:
                fix = "give each user an account of their own: otherwise users could change what others run"
                yield Fault(loc, f"is the account of {of_others[account]}", fix, account)
            owners.setdefault(account, user)


# Local to each node and cleared with it: unusable for files that two nodes share.
OF_ONE_NODE: Final = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # noqa: S108 - refused, not used


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it."""
    return f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
