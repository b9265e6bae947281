"""What public projects set in the manifests that they publish, written anew: images, privileges, paths of the node.

Each row has the address where the project keeps such a manifest. Only what the rules look at is kept; digests stand for
tags. A row with `compared` was compared with the file itself, as it was at that commit, which need not be the newest;
the others are written from memory. Compare a row when you touch it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True)
class Public:
    """One workload. `host` are its paths of the node, `reads` those that it only reads, `pod` what its pod sets.

    Where a row does not say what is only read, everything is written: that is the harder case.
    """

    name: str
    address: str
    images: str  # separated by blanks
    host: str = ""  # separated by blanks
    reads: str = ""
    kind: str = "DaemonSet"
    privileged: bool = False
    add: tuple[str, ...] = ()  # capabilities
    pod: dict[str, Any] = field(default_factory=dict)
    compared: str = ""  # the file's commit


NET: Final = {"hostNetwork": True}
PID: Final = {"hostNetwork": True, "hostPID": True}
KUBELET: Final = "/var/lib/kubelet/plugins /var/lib/kubelet/plugins_registry /var/lib/kubelet/pods"
GIT: Final = "https://github.com/"

PUBLIC: Final = (
    Public(
        "kube-proxy",
        GIT + "kubernetes/kubernetes/blob/master/cmd/kubeadm/app/phases/addons/proxy/manifests.go",
        "registry.k8s.io/kube-proxy",
        "/run/xtables.lock /lib/modules",
        privileged=True,
        pod=NET,
    ),
    Public(
        "cilium",
        GIT + "cilium/cilium/blob/main/install/kubernetes/cilium/templates/cilium-agent/daemonset.yaml",
        "quay.io/cilium/cilium",
        "/var/run/cilium /sys/fs/bpf /proc /opt/cni/bin /etc/cni/net.d /lib/modules /run/xtables.lock",
        privileged=True,
        add=("SYS_ADMIN",),
        pod=NET,
    ),
    Public(
        "cilium-envoy",
        GIT + "cilium/cilium/blob/main/install/kubernetes/cilium/templates/cilium-envoy/daemonset.yaml",
        "quay.io/cilium/cilium-envoy",
        "/var/run/cilium/envoy/sockets /sys/fs/bpf",
        add=("SYS_ADMIN", "NET_ADMIN"),
        pod=NET,
    ),
    Public(
        "tetragon",
        GIT + "cilium/tetragon/blob/main/install/kubernetes/tetragon/templates/daemonset.yaml",
        "quay.io/cilium/tetragon",
        "/sys/fs/bpf /proc /var/run/cilium/tetragon",
        privileged=True,
        pod=NET,
    ),
    Public(
        "calico-node",
        GIT + "projectcalico/calico/blob/master/manifests/calico.yaml",
        "docker.io/calico/node docker.io/calico/cni",
        "/lib/modules /var/run/calico /var/lib/calico /run/xtables.lock /sys/fs /proc /opt/cni/bin",
        privileged=True,
        pod=NET,
    ),
    Public(
        "calico-csi",
        GIT + "projectcalico/calico/blob/master/manifests/csi-driver.yaml",
        "docker.io/calico/csi docker.io/calico/node-driver-registrar",
        "/var/run /etc/calico /var/lib/kubelet /var/lib/kubelet/plugins/csi.tigera.io/ /var/lib/kubelet/plugins_registry/",  # noqa: E501 - paths as the file has them
        privileged=True,
        compared="01fe1dd",
    ),
    Public(
        "calico-kube-controllers",
        GIT + "projectcalico/calico/blob/master/manifests/calico.yaml",
        "docker.io/calico/kube-controllers",
        kind="Deployment",
    ),
    Public(
        "kube-flannel-ds",
        GIT + "flannel-io/flannel/blob/master/Documentation/kube-flannel.yml",
        "ghcr.io/flannel-io/flannel",
        "/run/flannel /opt/cni/bin /etc/cni/net.d /run/xtables.lock",
        add=("NET_ADMIN", "NET_RAW"),
        pod=NET,
    ),
    Public(
        "aws-node",
        GIT + "aws/amazon-vpc-cni-k8s/blob/master/config/master/aws-k8s-cni.yaml",
        "public.ecr.aws/eks/amazon-k8s-cni public.ecr.aws/eks/aws-network-policy-agent",
        "/sys/fs/bpf /opt/cni/bin /etc/cni/net.d /var/log/aws-routed-eni /var/run/aws-node /run/xtables.lock",
        privileged=True,
        pod=NET,
    ),
    Public(
        "kube-router",
        GIT + "cloudnativelabs/kube-router/blob/master/daemonset/kubeadm-kuberouter.yaml",
        "docker.io/cloudnativelabs/kube-router docker.io/library/busybox",
        "/lib/modules /etc/cni/net.d /var/lib/kube-router/kubeconfig /run/xtables.lock",
        reads="/lib/modules /var/lib/kube-router/kubeconfig",
        privileged=True,
        pod=NET,
        compared="0253e5b",
    ),
    Public(
        "antrea-agent",
        GIT + "antrea-io/antrea/blob/main/build/yamls/antrea.yml",
        "docker.io/antrea/antrea-agent-ubuntu",
        "/proc /var/run/antrea /var/run/netns /lib/modules /sys/fs/bpf",
        privileged=True,
        pod=NET,
    ),
    Public(
        "kube-multus-ds",
        GIT + "k8snetworkplumbingwg/multus-cni/blob/master/deployments/multus-daemonset-thick.yml",
        "ghcr.io/k8snetworkplumbingwg/multus-cni",
        "/etc/cni/net.d /opt/cni/bin / /run /var/lib/cni/multus /var/lib/kubelet /run/k8s.cni.cncf.io /run/netns/ /etc/cni/multus/net.d",  # noqa: E501 - paths as the file has them
        privileged=True,
        pod=PID,
        compared="05517e2",
    ),
    Public(
        "node-local-dns",
        GIT + "kubernetes/kubernetes/blob/master/cluster/addons/dns/nodelocaldns/nodelocaldns.yaml",
        "registry.k8s.io/dns/k8s-dns-node-cache",
        "/run/xtables.lock",
        add=("NET_ADMIN",),
        pod=NET,
    ),
    Public(
        "speaker",
        GIT + "metallb/metallb/blob/main/config/manifests/metallb-native.yaml",
        "quay.io/metallb/speaker",
        add=("NET_RAW",),
        pod=NET,
    ),
    Public(
        "istio-cni-node",
        GIT + "istio/istio/blob/master/manifests/charts/istio-cni/templates/daemonset.yaml",
        "docker.io/istio/install-cni",
        "/opt/cni/bin /proc /etc/cni/net.d /var/run/netns /var/run/ztunnel",
        add=("NET_ADMIN", "SYS_ADMIN"),
    ),
    Public(
        "ebs-csi-node",
        GIT + "kubernetes-sigs/aws-ebs-csi-driver/blob/master/deploy/kubernetes/base/node.yaml",
        "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver public.ecr.aws/csi-components/csi-node-driver-registrar public.ecr.aws/csi-components/livenessprobe",  # noqa: E501 - an address is one word
        "/var/lib/kubelet /var/lib/kubelet/plugins/ebs.csi.aws.com/ /var/lib/kubelet/plugins_registry/ /dev",
        privileged=True,
        compared="0173c8e",
    ),
    Public(
        "efs-csi-node",
        GIT + "kubernetes-sigs/aws-efs-csi-driver/blob/master/deploy/kubernetes/base/node-daemonset.yaml",
        "docker.io/amazon/aws-efs-csi-driver public.ecr.aws/eks-distro/kubernetes-csi/node-driver-registrar public.ecr.aws/eks-distro/kubernetes-csi/livenessprobe",  # noqa: E501 - an address is one word
        "/var/lib/kubelet /var/lib/kubelet/plugins/efs.csi.aws.com/ /var/lib/kubelet/plugins_registry/ /var/run/efs /var/amazon/efs /etc/amazon/efs",  # noqa: E501 - paths as the file has them
        privileged=True,
        pod=NET,
        compared="0155253",
    ),
    Public(
        "csi-azuredisk-node",
        GIT + "kubernetes-sigs/azuredisk-csi-driver/blob/master/deploy/csi-azuredisk-node.yaml",
        "mcr.microsoft.com/k8s/csi/azuredisk-csi mcr.microsoft.com/oss/kubernetes-csi/livenessprobe mcr.microsoft.com/oss/kubernetes-csi/csi-node-driver-registrar",  # noqa: E501 - an address is one word
        "/var/lib/kubelet/plugins/disk.csi.azure.com /var/lib/kubelet/ /var/lib/kubelet/plugins_registry/ /etc/kubernetes/ /var/lib/waagent/ManagedIdentity-Settings /dev /sys/bus/scsi/devices /sys/class/scsi_host/",  # noqa: E501 - paths as the file has them
        reads="/var/lib/waagent/ManagedIdentity-Settings",
        privileged=True,
        pod=NET,
        compared="02e6381",
    ),
    Public(
        "csi-gce-pd-node",
        GIT
        + "kubernetes-sigs/gcp-compute-persistent-disk-csi-driver/blob/master/deploy/kubernetes/base/node_linux/node.yaml",  # noqa: E501 - an address is one word
        "gke.gcr.io/gcp-compute-persistent-disk-csi-driver registry.k8s.io/sig-storage/csi-node-driver-registrar",
        "/var/lib/kubelet/plugins_registry/ /var/lib/kubelet /var/lib/kubelet/plugins/pd.csi.storage.gke.io/ /dev /etc/udev /lib/udev /run/udev /sys /lib/modules",  # noqa: E501 - paths as the file has them
        privileged=True,
        pod=NET,
        compared="0681d2f",
    ),
    Public(
        "csi-nfs-node",
        GIT + "kubernetes-csi/csi-driver-nfs/blob/master/deploy/csi-nfs-node.yaml",
        "gcr.io/k8s-staging-sig-storage/nfsplugin registry.k8s.io/sig-storage/livenessprobe registry.k8s.io/sig-storage/csi-node-driver-registrar",  # noqa: E501 - an address is one word
        "/var/lib/kubelet/plugins/csi-nfsplugin /var/lib/kubelet/pods /var/lib/kubelet/plugins_registry",
        privileged=True,
        add=("SYS_ADMIN",),
        pod=NET,
        compared="04d52d9",
    ),
    Public(
        "csi-smb-node",
        GIT + "kubernetes-csi/csi-driver-smb/blob/master/deploy/csi-smb-node.yaml",
        "gcr.io/k8s-staging-sig-storage/smbplugin registry.k8s.io/sig-storage/livenessprobe registry.k8s.io/sig-storage/csi-node-driver-registrar",  # noqa: E501 - an address is one word
        "/var/lib/kubelet/plugins/smb.csi.k8s.io /var/lib/kubelet/ /var/lib/kubelet/plugins_registry/",
        privileged=True,
        pod=NET,
        compared="023adfd",
    ),
    Public(
        "csi-nfs-controller",
        GIT + "kubernetes-csi/csi-driver-nfs/blob/master/deploy/csi-nfs-controller.yaml",
        "registry.k8s.io/sig-storage/csi-provisioner registry.k8s.io/sig-storage/csi-resizer",
        kind="Deployment",
        pod=NET,
    ),
    Public(
        "csi-rbdplugin",
        GIT + "ceph/ceph-csi/blob/devel/deploy/rbd/kubernetes/csi-rbdplugin.yaml",
        "quay.io/cephcsi/cephcsi registry.k8s.io/sig-storage/csi-node-driver-registrar",
        "/var/lib/kubelet/plugins/rbd.csi.ceph.com /var/lib/kubelet/plugins /var/lib/kubelet/pods /var/log/ceph /var/lib/kubelet/plugins_registry/ /dev /sys /etc/selinux /run/mount /lib/modules",  # noqa: E501 - paths as the file has them
        reads="/etc/selinux /lib/modules",
        privileged=True,
        add=("SYS_ADMIN",),
        pod=PID,
        compared="004f647",
    ),
    Public(
        "longhorn-manager",
        GIT + "longhorn/longhorn/blob/master/deploy/longhorn.yaml",
        "docker.io/longhornio/longhorn-manager",
        "/boot /dev /proc /etc /var/lib/longhorn",
        privileged=True,
    ),
    Public(
        "openstack-cinder-csi",
        GIT + "kubernetes/cloud-provider-openstack/blob/master/manifests/cinder-csi-plugin/cinder-csi-nodeplugin.yaml",
        "docker.io/k8scloudprovider/cinder-csi-plugin quay.io/k8scsi/csi-node-driver-registrar",
        "/var/lib/kubelet/plugins/cinder.csi.openstack.org /var/lib/kubelet/plugins_registry/ /var/lib/kubelet /var/lib/kubelet/pods /var/lib/cloud/data /dev",  # noqa: E501 - paths as the file has them
        reads="/var/lib/cloud/data",
        privileged=True,
        add=("SYS_ADMIN",),
        pod=NET,
        compared="01ce7e7",
    ),
    Public(
        "csi-secrets-store",
        GIT + "kubernetes-sigs/secrets-store-csi-driver/blob/main/deploy/secrets-store-csi-driver.yaml",
        "k8s.gcr.io/csi-secrets-store/driver k8s.gcr.io/sig-storage/csi-node-driver-registrar k8s.gcr.io/sig-storage/livenessprobe",  # noqa: E501 - an address is one word
        "/var/lib/kubelet/pods /var/lib/kubelet/plugins_registry/ /var/lib/kubelet/plugins/csi-secrets-store/ /etc/kubernetes/secrets-store-csi-providers",  # noqa: E501 - paths as the file has them
        privileged=True,
        compared="0017b46",
    ),
    Public(
        "juicefs-csi-node",
        GIT + "juicedata/juicefs-csi-driver/blob/master/deploy/k8s.yaml",
        "docker.io/juicedata/juicefs-csi-driver registry.k8s.io/sig-storage/csi-node-driver-registrar",
        "/var/lib/kubelet /dev /var/lib/juicefs",
        privileged=True,
    ),
    Public(
        "node-exporter",
        GIT + "prometheus-operator/kube-prometheus/blob/main/manifests/nodeExporter-daemonset.yaml",
        "quay.io/prometheus/node-exporter quay.io/brancz/kube-rbac-proxy",
        "/sys /",
        reads="/sys /",
        add=("SYS_TIME",),
        pod=PID,
        compared="01d4f1d",
    ),
    Public(
        "node-problem-detector",
        GIT + "kubernetes/node-problem-detector/blob/master/deployment/node-problem-detector.yaml",
        "registry.k8s.io/node-problem-detector/node-problem-detector",
        "/var/log/ /dev/kmsg /etc/localtime",
        reads="/var/log/ /dev/kmsg /etc/localtime",
        privileged=True,
        compared="13b65d0",
    ),
    Public(
        "nfd-worker",
        GIT
        + "kubernetes-sigs/node-feature-discovery/blob/master/deployment/components/worker-daemonset/worker-daemonset.yaml",  # noqa: E501 - an address is one word
        "registry.k8s.io/nfd/node-feature-discovery",
        "/boot /etc/os-release /sys /usr/lib /lib /proc/swaps",
    ),
    Public(
        "fluent-bit",
        GIT + "fluent/fluent-bit-kubernetes-logging/blob/master/output/elasticsearch/fluent-bit-ds.yaml",
        "docker.io/fluent/fluent-bit",
        "/var/log /var/lib/docker/containers",
        reads="/var/lib/docker/containers",
        compared="0f9cd6c",
    ),
    Public(
        "fluentd",
        GIT + "fluent/fluentd-kubernetes-daemonset/blob/master/fluentd-daemonset-elasticsearch-rbac.yaml",
        "docker.io/fluent/fluentd-kubernetes-daemonset",
        "/var/log /var/lib/docker/containers",
        reads="/var/lib/docker/containers",
        compared="0680408",
    ),
    Public(
        "promtail",
        GIT + "grafana/helm-charts/blob/main/charts/promtail/values.yaml",
        "docker.io/grafana/promtail",
        "/run/promtail /var/lib/docker/containers /var/log/pods",
    ),
    Public(
        "filebeat",
        GIT + "elastic/beats/blob/main/deploy/kubernetes/filebeat-kubernetes.yaml",
        "docker.elastic.co/beats/filebeat-wolfi",
        "/var/lib/docker/containers /var/log /var/lib/filebeat-data",
        reads="/var/lib/docker/containers /var/log",
        pod=NET,
        compared="005f19f",
    ),
    Public(
        "vector",
        GIT + "vectordotdev/vector/blob/master/distribution/kubernetes/vector-agent/daemonset.yaml",
        "docker.io/timberio/vector",
        "/var/log /var/lib /proc /sys",
    ),
    Public(
        "otel-collector-agent",
        GIT
        + "open-telemetry/opentelemetry-helm-charts/blob/main/charts/opentelemetry-collector/templates/daemonset.yaml",
        "docker.io/otel/opentelemetry-collector-k8s",
        "/var/log/pods /var/lib/docker/containers /",
    ),
    Public(
        "datadog",
        GIT + "DataDog/helm-charts/blob/main/charts/datadog/templates/daemonset.yaml",
        "gcr.io/datadoghq/agent",
        "/var/run /proc /sys/fs/cgroup /etc/passwd",
    ),
    Public(
        "cadvisor",
        GIT + "google/cadvisor/blob/master/deploy/kubernetes/base/daemonset.yaml",
        "k8s.gcr.io/cadvisor",
        "/ /var/run /sys /var/lib/docker",
        reads="/ /var/run /sys /var/lib/docker",
        compared="01ef7f1",
    ),
    Public(
        "falco",
        GIT + "falcosecurity/charts/blob/master/charts/falco/templates/pod-template.tpl",
        "docker.io/falcosecurity/falco",
        "/boot /lib/modules /usr /etc /dev /sys/module /proc /var/run/docker.sock /run/containerd",
        privileged=True,
    ),
    Public(
        "kured",
        GIT + "kubereboot/kured/blob/main/kured-ds.yaml",
        "ghcr.io/kubereboot/kured",
        "/var/run",
        reads="/var/run",
        privileged=True,
        pod={"hostPID": True},
        compared="001fd3a",
    ),
    Public(
        "aws-node-termination-handler",
        GIT
        + "aws/aws-node-termination-handler/blob/main/config/helm/aws-node-termination-handler/templates/daemonset.linux.yaml",  # noqa: E501 - an address is one word
        "public.ecr.aws/aws-ec2/aws-node-termination-handler",
        pod=NET,
    ),
    Public(
        "coredns",
        GIT + "coredns/deployment/blob/master/kubernetes/coredns.yaml.sed",
        "docker.io/coredns/coredns",
        kind="Deployment",
        add=("NET_BIND_SERVICE",),
    ),
    Public(
        "metrics-server",
        GIT + "kubernetes-sigs/metrics-server/blob/master/manifests/base/deployment.yaml",
        "gcr.io/k8s-staging-metrics-server/metrics-server",
        kind="Deployment",
        compared="009ffa2",
    ),
    Public(
        "kube-state-metrics",
        GIT + "kubernetes/kube-state-metrics/blob/main/examples/standard/deployment.yaml",
        "k8s.gcr.io/kube-state-metrics/kube-state-metrics",
        kind="Deployment",
        compared="02efa65",
    ),
    Public(
        "ingress-nginx-controller",
        GIT + "kubernetes/ingress-nginx/blob/main/deploy/static/provider/cloud/deploy.yaml",
        "registry.k8s.io/ingress-nginx/controller",
        kind="Deployment",
        add=("NET_BIND_SERVICE",),
    ),
    Public(
        "cert-manager",
        GIT + "cert-manager/cert-manager/tree/master/deploy/charts/cert-manager",
        "quay.io/jetstack/cert-manager-controller",
        kind="Deployment",
    ),
    Public(
        "external-dns",
        GIT + "kubernetes-sigs/external-dns/blob/master/kustomize/external-dns-deployment.yaml",
        "registry.k8s.io/external-dns/external-dns",
        kind="Deployment",
    ),
    Public(
        "cluster-autoscaler",
        GIT
        + "kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/examples/cluster-autoscaler-autodiscover.yaml",  # noqa: E501 - an address is one word
        "registry.k8s.io/autoscaling/cluster-autoscaler",
        "/etc/ssl/certs/ca-bundle.crt",
        kind="Deployment",
    ),
    Public(
        "argocd-server",
        GIT + "argoproj/argo-cd/blob/master/manifests/install.yaml",
        "quay.io/argoproj/argocd",
        kind="Deployment",
    ),
    Public(
        "workflow-controller",
        GIT
        + "argoproj/argo-workflows/blob/main/manifests/base/workflow-controller/workflow-controller-deployment.yaml",
        "quay.io/argoproj/workflow-controller",
        kind="Deployment",
    ),
    Public(
        "prometheus-operator",
        GIT + "prometheus-operator/prometheus-operator/blob/main/bundle.yaml",
        "quay.io/prometheus-operator/prometheus-operator",
        kind="Deployment",
    ),
    Public(
        "grafana",
        GIT + "prometheus-operator/kube-prometheus/blob/main/manifests/grafana-deployment.yaml",
        "docker.io/grafana/grafana",
        kind="Deployment",
    ),
    Public(
        "hub",
        GIT + "jupyterhub/zero-to-jupyterhub-k8s/blob/main/jupyterhub/templates/hub/deployment.yaml",
        "quay.io/jupyterhub/k8s-hub",
        kind="Deployment",
    ),
    Public(
        "proxy",
        GIT + "jupyterhub/zero-to-jupyterhub-k8s/blob/main/jupyterhub/templates/proxy/deployment.yaml",
        "quay.io/jupyterhub/configurable-http-proxy",
        kind="Deployment",
    ),
    Public(
        "kueue-controller-manager",
        GIT + "kubernetes-sigs/kueue/tree/main/config/components/manager",
        "registry.k8s.io/kueue/kueue",
        kind="Deployment",
    ),
    Public(
        "training-operator",
        GIT + "kubeflow/trainer/tree/release-1.9/manifests/base",
        "docker.io/kubeflow/training-operator",
        kind="Deployment",
    ),
    Public(
        "volcano-scheduler",
        GIT + "volcano-sh/volcano/blob/master/installer/volcano-development.yaml",
        "docker.io/volcanosh/vc-scheduler",
        "/tmp/klog-socks",
        kind="Deployment",
    ),
    Public(
        "kuberay-operator",
        GIT + "ray-project/kuberay/tree/master/helm-chart/kuberay-operator",
        "quay.io/kuberay/operator",
        kind="Deployment",
    ),
    Public(
        "spark-operator-controller",
        GIT + "kubeflow/spark-operator/tree/master/charts/spark-operator-chart",
        "ghcr.io/kubeflow/spark-operator/controller",
        kind="Deployment",
    ),
    Public(
        "gpu-operator",
        GIT + "NVIDIA/gpu-operator/blob/main/deployments/gpu-operator/templates/operator.yaml",
        "nvcr.io/nvidia/gpu-operator",
        "/etc/os-release",
        kind="Deployment",
    ),
)
