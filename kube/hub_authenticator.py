"""Who may log in to a hub: the options of JupyterHub's authenticators. Pure.

Option names are those of jupyterhub 5.5, oauthenticator 17.4 and ltiauthenticator 1.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kube.hub_arguments import Arguments

AUTHENTICATOR_KINDS = ("dummy", "lti13", "oauth")
SHARED_PASSWORD = "shared-password"  # noqa: S105 - a class of JupyterHub 5.3 and later


@dataclass(frozen=True, slots=True)
class SecretKey:
    """One key of a Kubernetes Secret in the hub's namespace."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Authenticator:
    """JupyterHub's authenticator: its class, its plain options, and where its secret lies."""

    kind: str
    class_name: str
    options: Mapping[str, Any]
    allow_all: bool
    allowed_users: Sequence[str]
    admins: Sequence[str]
    client_secret: SecretKey | None = None
    ca_certificates: str | None = None
    """PEM text: whom the hub trusts when it asks the provider. None: the public authorities."""

    @property
    def has_admin_password(self) -> bool:
        """Whether administrators have a password that the other users do not know."""
        return self.class_name == SHARED_PASSWORD and bool(self.admins)


def parse_authenticator(read: Arguments) -> Authenticator:
    """Arguments of one authenticator; what is wrong is noted in `read`."""
    kind = read.choice("kind", AUTHENTICATOR_KINDS)
    class_name, options = {"dummy": _dummy, "lti13": _lti13, "oauth": _oauth}[kind](read)
    allowed_users = tuple(sorted(set(read.texts("allowed_users"))))
    admins = tuple(sorted(set(read.texts("admins"))))
    # A list of users is the list of all users. An identity provider knows far more people than a course has: with
    # oauth no default is right.
    allow_all = read.claim("allow_all", default=kind != "oauth" and not allowed_users)
    if allow_all and allowed_users:
        read.note("allow_all", "lets everybody in, listed or not", "drop it, or drop allowed_users")
    if not (allow_all or allowed_users or admins):
        read.note("allowed_users", "nobody could log in", "list users, or say allow_all: true")
    authenticator = Authenticator(
        kind=kind,
        class_name=class_name,
        options=options,
        allow_all=allow_all,
        allowed_users=allowed_users,
        admins=admins,
        client_secret=_secret_key(read.nested("client_secret")) if kind == "oauth" else None,
        ca_certificates=read.text("ca_certificates") if kind == "oauth" and read.has("ca_certificates") else None,
    )
    read.refuse_unknown()
    return authenticator


def _dummy(_read: Arguments) -> tuple[str, dict[str, Any]]:
    # Not JupyterHub's class of that name: there the password of everybody is also the administrators'.
    return SHARED_PASSWORD, {}


def _lti13(read: Arguments) -> tuple[str, dict[str, Any]]:
    options: dict[str, Any] = {
        "authorize_url": read.url("authorize_url"),
        "client_id": list(read.texts("client_ids")),
        "issuer": read.url("issuer"),
        "jwks_endpoint": read.url("jwks_endpoint"),
        "username_key": read.text("username_key", "email"),
    }
    if not options["client_id"]:
        read.note("client_ids", "leaves no platform to trust", "list the client IDs that the platform gave this tool")
    return "ltiauthenticator.lti13.auth.LTI13Authenticator", options


def _oauth(read: Arguments) -> tuple[str, dict[str, Any]]:
    options: dict[str, Any] = {
        "authorize_url": read.url("authorize_url"),
        "client_id": read.text("client_id"),
        "login_service": read.text("login_service", "single sign-on"),
        "oauth_callback_url": read.url("callback_url"),
        "scope": list(read.texts("scopes")) or ["openid"],
        "token_url": read.url("token_url"),
        "userdata_url": read.url("userdata_url"),
        "username_claim": read.text("username_claim", "preferred_username"),
    }
    return "oauthenticator.generic.GenericOAuthenticator", options


def _secret_key(read: Arguments) -> SecretKey:
    secret = SecretKey(read.text("secret"), read.text("key"))
    read.refuse_unknown()
    return secret
