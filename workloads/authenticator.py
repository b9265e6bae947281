"""Login rules of a hub as options of JupyterHub's authenticators. Pure.

Option names are those of jupyterhub 5.5, oauthenticator 17.4 and ltiauthenticator 1.6.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo

from errors.agreements import check
from errors.faults import FORM, Misfit, is_lenient
from errors.problems import Fault
from workloads.addresses import BaseUrl, Endpoint
from workloads.names import DataKey, Line, ObjectName, Scope, UserName

SHARED_PASSWORD = "shared-password"  # noqa: S105 - a class of JupyterHub 5.3 and later


def _certificates(value: str, info: ValidationInfo) -> str:
    import ssl  # noqa: PLC0415 - few hubs have certificates

    if "PRIVATE KEY" in value:
        raise Misfit("holds a private key", "remove it, from the version history too: only certificates belong here")
    try:
        ssl.create_default_context(cadata=value)
    except (ssl.SSLError, ValueError, TypeError):  # the last two: not ASCII, as PEM must be
        fix = "give the text of the file with its lines BEGIN CERTIFICATE and END CERTIFICATE"
        fix += "" if is_lenient(info) else ", as a block: ca_certificates: |"
        raise Misfit("is not a list of PEM certificates", fix) from None
    return value


Certificates = Annotated[str, Field(min_length=1, max_length=500_000), AfterValidator(_certificates)]


class SecretKey(BaseModel):
    """One key of a Kubernetes Secret, or a file on a Docker host. Its value never passes through here."""

    model_config = FORM
    secret: ObjectName = Field(
        description="Name of a Kubernetes Secret in the hub's namespace; on a Docker host a folder below "
        "/etc/gpu-commons/secrets."
    )
    key: DataKey = Field(description="Key inside that Secret; on a Docker host a file in that folder.")


class Listing(BaseModel):
    """A login for everybody, or for a list of users."""

    model_config = FORM
    allow_all: bool
    allowed_users: tuple[UserName, ...] = Field((), description="Who may log in, if not everybody.")
    admins: tuple[UserName, ...] = Field(
        (), description="Administrators: they may log in, and see and stop all servers."
    )

    @check
    def _somebody(self) -> Iterator[Fault]:
        if self.allow_all and self.allowed_users:
            fix = "write allow_all: false, or leave allowed_users out"
            yield Fault(("allowed_users",), "has no effect: allow_all lets everybody in", fix)
        # Only OAuth admits unlisted administrators: jupyterhub 5.5 adds them to an existing list.
        elif not (self.allow_all or self.allowed_users or (isinstance(self, OAuthAuthenticator) and self.admins)):
            yield Fault((), "lets nobody log in", "list allowed_users, or set allow_all: true")


def with_user_list(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments of a hub: there, a user list names everyone who may log in."""
    given = raw.get("authenticator")
    if not isinstance(given, Mapping) or not given.get("allowed_users"):
        return raw
    return {**raw, "authenticator": {"allow_all": False, **given}}


class DummyAuthenticator(BaseModel):
    """One shared password for everybody (SharedPasswordAuthenticator). Only for the lab."""

    model_config = FORM
    kind: Literal["dummy"] = Field(
        description="Everybody who knows the hub's one password gets in, to every account but administrators'; only "
        "for the lab."
    )
    admins: tuple[UserName, ...] = Field(
        (), description="Administrators, who see and stop all servers; they have a password of their own."
    )


class ListingDummyAuthenticator(DummyAuthenticator, Listing):
    """The same with a list of users, as component argument."""

    allow_all: bool = Field(default=True, description="Whoever knows the password may log in.")


class OAuthAuthenticator(Listing):
    """Login at an OAuth or OpenID Connect provider (GenericOAuthenticator of oauthenticator)."""

    kind: Literal["oauth"] = Field(description="Log in at an OAuth provider.")
    client_id: Line = Field(description="Client id that the provider gave to this hub; quoted.")
    client_secret: SecretKey = Field(
        description="Where the client secret is kept, {secret: a Kubernetes Secret, key: its key}; never the value."
    )
    callback_url: Endpoint = Field(description="The hub's callback: https://hub.example.edu/hub/oauth_callback.")
    authorize_url: Endpoint = Field(description="The provider's authorization endpoint.")
    token_url: Endpoint = Field(description="The provider's token endpoint.")
    userdata_url: Endpoint = Field(description="The provider's user information endpoint.")
    username_claim: Line = Field("preferred_username", description="Field of the response that becomes the user name.")
    scopes: tuple[Scope, ...] = Field(("openid",), min_length=1, description="Scopes to ask for.")
    login_service: Line | None = Field(None, description="Name on the login button.")
    ca_certificates: Certificates | None = Field(
        None,
        description="PEM certificates of the authority that signed the provider's certificate; none: public ones.",
    )
    allow_all: bool = Field(default=False, description="Everybody with an account at the provider may log in.")


class Lti13Authenticator(Listing):
    """Login from a learning platform by LTI 1.3 (LTI13Authenticator of ltiauthenticator)."""

    kind: Literal["lti13"] = Field(description="Users come from a learning platform by LTI 1.3.")
    issuer: BaseUrl = Field(description="The platform's issuer identifier, an https address.")
    authorize_url: Endpoint = Field(description="The platform's authorization endpoint.")
    jwks_endpoint: Endpoint = Field(description="Where the platform publishes its keys (JWKS).")
    client_ids: tuple[Line, ...] = Field(min_length=1, description="Client ids of this hub at the platform; quoted.")
    username_key: Line = Field("email", description="Claim that becomes the user name; custom_… for custom claims.")
    allow_all: bool = Field(default=True, description="Whoever the platform sends may log in.")


Authenticator = Annotated[
    ListingDummyAuthenticator | OAuthAuthenticator | Lti13Authenticator, Field(discriminator="kind")
]


@dataclass(frozen=True, slots=True)
class Login:
    """JupyterHub's form: the authenticator class, its plain options, and the place of its secret."""

    class_name: str
    options: Mapping[str, Any]
    allow_all: bool
    allowed_users: Sequence[str]
    admins: Sequence[str]
    client_secret: SecretKey | None = None
    ca_certificates: str | None = None
    """PEM certificates trusted for calls to the provider. None: the public authorities."""

    @property
    def has_admin_password(self) -> bool:
        """Whether administrators have a separate password."""
        return self.class_name == SHARED_PASSWORD and bool(self.admins)


def login(given: ListingDummyAuthenticator | OAuthAuthenticator | Lti13Authenticator) -> Login:
    """An authenticator as JupyterHub options."""
    who: dict[str, Any] = {
        "allow_all": given.allow_all,
        "allowed_users": sorted(set(given.allowed_users)),
        "admins": sorted(set(given.admins)),
    }
    if isinstance(given, OAuthAuthenticator):
        options = given.model_dump(
            include={"authorize_url", "client_id", "token_url", "userdata_url", "username_claim"}
        )
        options["login_service"] = given.login_service or "single sign-on"
        options["oauth_callback_url"] = given.callback_url
        options["scope"] = list(given.scopes)
        name = "oauthenticator.generic.GenericOAuthenticator"
        return Login(name, options, **who, client_secret=given.client_secret, ca_certificates=given.ca_certificates)
    if isinstance(given, Lti13Authenticator):
        options = given.model_dump(include={"authorize_url", "issuer", "jwks_endpoint", "username_key"})
        options["client_id"] = list(given.client_ids)
        return Login("ltiauthenticator.lti13.auth.LTI13Authenticator", options, **who)
    # Not JupyterHub's class of that name: its shared password also opens administrators' accounts.
    return Login(SHARED_PASSWORD, {}, **who)
