"""How people get in to a hub on Kubernetes: public service, ingress, certificate, URL. Pure.

TLS ends at the hub's proxy for a node port and a load balancer, and at the controller for an ingress or a Gateway.
"""

from typing import Any, Final

from platforms.kubernetes.hub import PROXY, metadata, service
from workloads.addresses import LOOPBACK
from workloads.exposure import HTTP, HTTPS, TLS_TYPE, Certificate, Gateway, Ingress, origin
from workloads.hub import Hub

TLS: Final = "hub-tls"
TLS_FILES: Final = "hub-tls-files"  # a name of its own: what cert-manager has filled is not deleted with it
TLS_FOLDER: Final = "/etc/hub-tls"
HTTPS_PORT: Final = 8443
REDIRECT_PORT: Final = 8080  # answers every request with the https address
# ingress-nginx ends a kernel's websocket after a minute and refuses notebooks above 1 MB. Others ignore this.
OF_NGINX: Final = {
    "nginx.ingress.kubernetes.io/proxy-body-size": "64m",
    "nginx.ingress.kubernetes.io/proxy-read-timeout": "3600",
    "nginx.ingress.kubernetes.io/proxy-send-timeout": "3600",
}


def proxy_certificate(hub: Hub) -> Certificate | None:
    """The certificate that the proxy serves; None if TLS ends in front of it, or there is none."""
    return None if isinstance(hub.expose, Ingress) else hub.expose.certificate


def redirect_options(hub: Hub) -> list[str]:
    """Proxy options that redirect http to https; empty where no http reaches the proxy."""
    if hub.expose.kind != "load_balancer" or proxy_certificate(hub) is None:
        return []
    return [f"--redirect-port={REDIRECT_PORT}", f"--redirect-to={hub.expose.port}"]


def tls_secret_name(certificate: Certificate) -> str:
    """Secret that holds certificate and key."""
    return certificate.secret or (TLS_FILES if certificate.files else TLS)


def public_service(hub: Hub) -> dict[str, Any]:
    """Public entry to the proxy."""
    expose = hub.expose
    target = "https" if proxy_certificate(hub) else "http"
    if expose.kind == "node_port":
        port = HTTPS if target == "https" else HTTP
        return _entry(hub, "NodePort", {"name": target, "port": port, "nodePort": expose.port, "targetPort": target})
    if expose.kind == "load_balancer":
        first = {"name": target, "port": expose.port, "targetPort": target}
        second = [{"port": HTTP, "targetPort": "redirect"}] if redirect_options(hub) else []
        return _entry(hub, "LoadBalancer", first, *second)
    port = HTTP if isinstance(expose, Ingress | Gateway) else expose.port
    return _entry(hub, "ClusterIP", {"port": port, "targetPort": "http"})


def _entry(hub: Hub, kind: str, *ports: dict[str, Any]) -> dict[str, Any]:
    return service(hub, "proxy-public", PROXY, {"type": kind}, *ports)


def ingress(hub: Hub, expose: Ingress) -> dict[str, Any]:
    """Routes the host name to the proxy."""
    backend = {"service": {"name": "proxy-public", "port": {"name": "http"}}}
    redirect = {"nginx.ingress.kubernetes.io/force-ssl-redirect": "true"} if expose.certificate else {}
    spec: dict[str, Any] = {
        "rules": [{"host": expose.host, "http": {"paths": [{"backend": backend, "path": "/", "pathType": "Prefix"}]}}]
    }
    if expose.ingress_class:
        spec["ingressClassName"] = expose.ingress_class
    if expose.certificate:
        spec["tls"] = [{"hosts": [expose.host], "secretName": tls_secret_name(expose.certificate)}]
    annotations = {**OF_NGINX, **redirect, **expose.annotations}
    return {"metadata": metadata(hub, "hub", PROXY, annotations=annotations), "spec": spec}


def routes(hub: Hub, expose: Gateway) -> dict[str, dict[str, Any]]:
    """HTTPRoutes by name: to the proxy, and from http to https."""
    to_proxy = {"backendRefs": [{"name": "proxy-public", "port": HTTP}]}
    to_https = {"filters": [{"type": "RequestRedirect", "requestRedirect": {"scheme": "https", "statusCode": 301}}]}
    found: dict[str, tuple[str | None, dict[str, Any]]] = {"hub": (expose.listener, to_proxy)}
    found |= {"hub-redirect": (expose.http_listener, to_https)} if expose.http_listener else {}
    return {name: _route(hub, name, expose, *each) for name, each in found.items()}


def _route(hub: Hub, name: str, expose: Gateway, listener: str | None, rule: dict[str, Any]) -> dict[str, Any]:
    parent = {"name": expose.gateway, "namespace": expose.gateway_namespace, "sectionName": listener}
    spec = {
        "hostnames": [expose.host],
        "parentRefs": [{key: value for key, value in parent.items() if value}],
        "rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], **rule}],
    }
    return {"metadata": metadata(hub, name, PROXY), "spec": spec}


def requested_certificate(hub: Hub) -> dict[str, Any] | None:
    """What cert-manager is asked for; None if the certificate comes from elsewhere."""
    certificate, host = hub.expose.certificate, getattr(hub.expose, "host", None)
    if certificate is None or not (certificate.issuer or certificate.cluster_issuer):
        return None
    kind = "Issuer" if certificate.issuer else "ClusterIssuer"
    issuer = {"group": "cert-manager.io", "kind": kind, "name": certificate.issuer or certificate.cluster_issuer}
    return {
        "metadata": metadata(hub, TLS, PROXY),
        "spec": {"dnsNames": [host], "issuerRef": issuer, "secretName": TLS},
    }


def tls_secret(hub: Hub, certificate: str, key: Any) -> dict[str, Any]:
    """The Secret made of two PEM texts."""
    data = {"tls.crt": certificate, "tls.key": key}
    return {"metadata": metadata(hub, TLS_FILES, PROXY), "stringData": data, "type": TLS_TYPE}


def url(hub: Hub, address: str | None = None) -> str:
    """Public URL. `address` is that of a load balancer, once it has one."""
    if hub.address:
        return f"{hub.address}/"
    if hub.expose.kind == "node_port":
        # Correct on the node itself, as in the lab; elsewhere a site sets a host or public_url.
        return f"http://{LOOPBACK}:{hub.expose.port}/"
    port = getattr(hub.expose, "port", HTTP)
    return f"{origin('http', address or f'proxy-public.{hub.namespace}.svc', port)}/"
