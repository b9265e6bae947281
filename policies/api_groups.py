"""Kinds by role: Kubernetes' own, those rendered out of sight, and those that only seem to make pods. Data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Groups of kubernetes/api v0.34 and earlier in Pulumi's form, and Pulumi's own for what it renders itself.
# All others are custom resources, including `sparkoperator.k8s.io` and `snapshot.storage.k8s.io`.
BUILT_IN: Final = frozenset(
    {
        "core",
        "apps",
        "autoscaling",
        "batch",
        "extensions",
        "meta",
        "policy",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "auditregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "imagepolicy.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "settings.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
        "helm.sh",
        "index",
        "kustomize",
        "yaml",
    }
)

_APPLIED: Final = "it is applied in the cluster"
# Kinds whose objects a controller in the cluster creates, from a chart or a repository.
OUT_OF_SIGHT: Final[Mapping[str, str]] = {
    "helm.sh:Release": "its chart is rendered inside the provider; a Chart of kubernetes.helm.v4 shows each object",
    "helm.toolkit.fluxcd.io:HelmRelease": "Flux renders its chart in the cluster",
    "kustomize.toolkit.fluxcd.io:Kustomization": "Flux applies it in the cluster",
    "helm.cattle.io:HelmChart": "its chart is rendered in the cluster",
    "helm.cattle.io:HelmChartConfig": "its chart is rendered in the cluster",
    "helm.crossplane.io:Release": "its chart is rendered in the cluster",
    "argoproj.io:Application": "Argo CD applies it in the cluster",
    "argoproj.io:ApplicationSet": "Argo CD applies it in the cluster",
    "fleet.cattle.io:Bundle": _APPLIED,
    "fleet.cattle.io:GitRepo": _APPLIED,
    "kappctrl.k14s.io:App": _APPLIED,
    "packaging.carvel.dev:PackageInstall": _APPLIED,
    "operators.coreos.com:Subscription": "its operator is installed in the cluster",
    "pkg.crossplane.io:Provider": "its package is installed in the cluster",
    "pkg.crossplane.io:Function": "its package is installed in the cluster",
    "addons.cluster.x-k8s.io:HelmChartProxy": "its chart is rendered in the cluster",
    "apps.open-cluster-management.io:HelmRelease": "its chart is rendered in the cluster",
    "apps.open-cluster-management.io:Subscription": _APPLIED,
    "config.projectsveltos.io:ClusterProfile": _APPLIED,
    "config.projectsveltos.io:Profile": _APPLIED,
    "core.oam.dev:Application": "KubeVela renders it in the cluster",
    "gitops.kluctl.io:KluctlDeployment": _APPLIED,
    "infra.contrib.fluxcd.io:Terraform": "Terraform creates it",
    "olm.operatorframework.io:ClusterExtension": "its operator is installed in the cluster",
    "pulumi.com:Program": "another Pulumi program creates it",
    "pulumi.com:Stack": "another Pulumi program creates it",
}

# Kinds whose pod templates are elsewhere, unless the object itself has one.
MADE_ELSEWHERE: Final = frozenset(
    {
        "akri.sh:Configuration",
        "argoproj.io:Sensor",
        "build.openshift.io:BuildConfig",
        "flow.volcano.sh:JobFlow",
        "kaito.sh:RAGEngine",
        "kaito.sh:Workspace",
        "kpack.io:Build",
        "kpack.io:Image",
        "kubeai.org:Model",
        "kubeflow.org:Experiment",
        "machineconfiguration.openshift.io:MachineConfig",
        "mlops.seldon.io:Server",
        "nvidia.com:ClusterPolicy",
        "serving.kserve.io:InferenceService",
        "shipwright.io:Build",
        "shipwright.io:BuildRun",
        "workspace.devfile.io:DevWorkspace",
    }
)

# Kinds that change pods at admission, or node labels, and the keys that do so; an
# empty key stands for the whole object.
CHANGES_PODS: Final[Mapping[str, str]] = {
    "admissionregistration.k8s.io:MutatingAdmissionPolicy": "",
    "apps.kruise.io:SidecarSet": "",
    "kubeflow.org:PodDefault": "",
    "kyverno.io:ClusterPolicy": "mutate",
    "kyverno.io:Policy": "mutate",
    "mutations.gatekeeper.sh:Assign": "",
    "mutations.gatekeeper.sh:AssignImage": "",
    "mutations.gatekeeper.sh:AssignMetadata": "",
    "mutations.gatekeeper.sh:ModifySet": "",
    "nfd.k8s-sigs.io:NodeFeatureRule": "",
    "policies.kyverno.io:MutatingPolicy": "",
    "policies.kyverno.io:NamespacedMutatingPolicy": "",
    "policy.karmada.io:ClusterOverridePolicy": "",
    "policy.karmada.io:OverridePolicy": "",
    "settings.k8s.io:PodPreset": "",
}

# Images, containers and pod templates in these are patterns, addresses or rules, which create no pods.
# A trailing ":" stands for every kind of the group.
WITHOUT_PODS: Final = frozenset(
    {
        "config.gatekeeper.sh:",
        "constraints.gatekeeper.sh:",
        "expansion.gatekeeper.sh:",
        "mutations.gatekeeper.sh:",
        "status.gatekeeper.sh:",
        "templates.gatekeeper.sh:",
        "image.toolkit.fluxcd.io:",
        "notification.toolkit.fluxcd.io:",
        "source.toolkit.fluxcd.io:",
        "monitoring.coreos.com:AlertmanagerConfig",
        "monitoring.coreos.com:PodMonitor",
        "monitoring.coreos.com:Probe",
        "monitoring.coreos.com:PrometheusRule",
        "monitoring.coreos.com:ScrapeConfig",
        "monitoring.coreos.com:ServiceMonitor",
        "aquasecurity.github.io:",
        "autoscaling.k8s.io:",
        "cert-manager.io:",
        "cluster.x-k8s.io:",
        "config.openshift.io:",
        "gateway.networking.k8s.io:",
        "image.openshift.io:",
        "kargo.akuity.io:",
        "karpenter.sh:",
        "kueue.x-k8s.io:",
        "nfd.k8s-sigs.io:",
        "policies.kyverno.io:",
        "policy.sigstore.dev:",
        "reports.kyverno.io:",
        "wgpolicyk8s.io:",
    }
)
# Pattern keys of kinds whose other keys may create pods: Kyverno's `generate` creates objects.
PATTERNS: Final[Mapping[str, frozenset[str]]] = {
    "kyverno.io:": frozenset(
        {"context", "exclude", "imageExtractors", "match", "mutate", "preconditions", "validate", "verifyImages"}
    ),
}
