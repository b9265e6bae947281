"""How people reach a hub: kinds of entry, and where the certificate of its host name comes from. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, Field

from errors.agreements import check
from errors.faults import FORM
from errors.problems import Fault
from workloads.addresses import LOOPBACK, HostName
from workloads.names import AbsolutePath, Line, ObjectName

REACHED: Final = "How people reach the hub."
HTTP: Final = 80
HTTPS: Final = 443
HOST: Final = "Host name that people open: hub.example.edu."
TLS_TYPE: Final = "kubernetes.io/tls"  # of a Secret with a certificate and its key
SOURCES: Final = ("secret", "issuer", "cluster_issuer", "files")


def origin(scheme: str, host: str, port: int) -> str:
    """`https://hub.example.edu:30443`; the scheme's own port is left out."""
    is_default = port == (HTTPS if scheme == "https" else HTTP)
    return f"{scheme}://{host}" if is_default else f"{scheme}://{host}:{port}"


class CertificateFiles(BaseModel):
    """PEM files beside the program; the key gets into the stack's state, encrypted."""

    model_config = FORM
    certificate: Line = Field(description="PEM file with the certificate and its chain.")
    key: Line = Field(description="PEM file with the private key; keep it out of the version history.")


class Certificate(BaseModel):
    """Where the certificate of the host name comes from: one of these."""

    model_config = FORM
    secret: ObjectName | None = Field(
        None, description="Secret of the type kubernetes.io/tls in the hub's namespace, which you keep up to date."
    )
    issuer: ObjectName | None = Field(None, description="Issuer of cert-manager in the hub's namespace.")
    cluster_issuer: ObjectName | None = Field(None, description="ClusterIssuer of cert-manager.")
    files: CertificateFiles | None = Field(None, description="PEM files, of which the stack makes a Secret.")

    @check
    def _one_source(self) -> Iterator[Fault]:
        named = [each for each in SOURCES if getattr(self, each, None) is not None]
        if len(named) != 1:
            reason = f"names {' and '.join(named)}" if named else "names no source"
            yield Fault((), reason, f"keep one of {', '.join(SOURCES)}")


class Entry(BaseModel):
    """Keys of every kind that can have a host name of its own."""

    model_config = FORM
    host: HostName | None = Field(None, description=HOST)
    certificate: Certificate | None = Field(
        None, description="Where the certificate of `host` comes from; none: people reach the hub by plain http."
    )

    if TYPE_CHECKING:

        @property
        def port(self) -> int: ...

    @check
    def _host_of_certificate(self) -> Iterator[Fault]:
        if self.certificate is not None and getattr(self, "host", None) is None:
            yield Fault(("host",), "is missing beside a certificate", "add the host name that the certificate is for")

    @property
    def address(self) -> str | None:
        """`https://hub.example.edu:30443`; None without a host name."""
        return origin("https" if self.certificate else "http", self.host, self.port) if self.host else None


class NodePort(Entry):
    """A port on every node."""

    kind: Literal["node_port"] = Field(description="A port of every node.")
    # Kubernetes' default range; API servers with another one report their own error.
    port: int = Field(ge=30000, le=32767, description="Node port, 30000 to 32767.")


ServicePort = Annotated[int, Field(ge=1, le=65535, description="Port of the service.")]


class LoadBalancer(Entry):
    """An address from the cluster's load balancer."""

    kind: Literal["load_balancer"] = Field(description="An address from the cluster's load balancer.")
    port: ServicePort = Field(
        80, description="Port of the service; with a certificate usually 443, and port 80 then leads to it."
    )

    @check
    def _port_of_https(self) -> Iterator[Fault]:
        if self.certificate is not None and self.port == HTTP:
            yield Fault(("port",), "is 80, but with a certificate the hub speaks https", f"write port: {HTTPS}")


class Ingress(Entry):
    """The cluster's ingress controller, which has the certificate."""

    kind: Literal["ingress"] = Field(description="The cluster's ingress controller.")
    host: HostName = Field(description=HOST)
    ingress_class: ObjectName | None = Field(None, description="Ingress class; none: the cluster's default.")
    annotations: dict[Line, str] = Field(
        default={}, description="Annotations for the controller, such as a redirect from http; ours set nginx's."
    )

    @property
    def port(self) -> int:
        """Where the controller listens."""
        return HTTPS if self.certificate else HTTP


class Gateway(BaseModel):
    """A Gateway of the cluster, which has the listeners and the certificates."""

    model_config = FORM
    kind: Literal["gateway"] = Field(description="A Gateway that the cluster has, of the Gateway API.")
    host: HostName = Field(description=HOST)
    gateway: ObjectName = Field(description="Name of the Gateway; a listener of it speaks https for the host.")
    gateway_namespace: ObjectName | None = Field(None, description="Its namespace; none: the hub's.")
    listener: ObjectName | None = Field(None, description="Its listener for https; none: all that admit the host.")
    http_listener: ObjectName | None = Field(
        None, description="Its listener for http, whose requests are led to https; needs `listener`."
    )

    @check
    def _listeners(self) -> Iterator[Fault]:
        if getattr(self, "http_listener", None) and getattr(self, "listener", None) in (None, self.http_listener):
            yield Fault(("listener",), "is not another one than http_listener", "name the listener for https")

    @property
    def address(self) -> str:
        """`https://hub.example.edu`."""
        return origin("https", self.host, HTTPS)

    @property
    def certificate(self) -> None:
        """The Gateway's."""
        return


class ClusterIp(BaseModel):
    """Reachable only inside the cluster; the site's own ingress leads to it."""

    model_config = FORM
    kind: Literal["cluster_ip"] = Field(description="Inside the cluster only.")
    port: ServicePort = 80

    @property
    def address(self) -> None:
        """Unknown here."""
        return

    @property
    def certificate(self) -> None:
        """TLS ends at what leads to it."""
        return


ClusterExposure = Annotated[NodePort | LoadBalancer | Ingress | Gateway | ClusterIp, Field(discriminator="kind")]


class HttpsPort(BaseModel):
    """A port of the machine that the hub runs on, where its proxy speaks https."""

    model_config = FORM
    certificate: AbsolutePath | None = Field(
        None,
        description="PEM file on the machine that runs the hub: the certificate and its chain; none: one that the hub "
        "signs itself, which every browser warns about.",
    )
    key: AbsolutePath | None = Field(
        None, description="PEM file on the machine that runs the hub: the certificate's private key."
    )

    if TYPE_CHECKING:

        @property
        def port(self) -> int: ...
        @property
        def address(self) -> str: ...

    @check
    def _both_files(self) -> Iterator[Fault]:
        if (self.certificate is None) != (self.key is None):
            missing, beside = ("certificate", "key") if self.certificate is None else ("key", "certificate")
            fix = "name both files, or none: the hub then signs a certificate itself"
            yield Fault((missing,), f"is missing beside {beside}", fix)

    @property
    def host(self) -> str:
        """Host name of the certificate."""
        return LOOPBACK if self.address == "0.0.0.0" else self.address  # noqa: S104 - compared

    @property
    def url(self) -> str:
        """Where people open it, unless a proxy is in front."""
        return f"{origin('https', self.host, self.port)}/"
