"""The arguments of components, written from the models that read their values: `make docs`.

Only keys that no model has are described here. tests/test_docs.py says when a module is behind its models.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from imaging.spec import hub_description
from platforms import node_keys
from platforms.aws import cluster, flatcar_keys
from platforms.aws.instance_group import PinnedImage
from platforms.aws.node_group import NodeGroup
from platforms.docker import container_model
from platforms.docker import hub_model as docker_hub
from platforms.docker.host_model import HostKeys
from platforms.kubernetes.job import Job
from platforms.slurm import hub_model as slurm_hub
from platforms.slurm.job_model import SlurmJob
from platforms.slurm.partition_model import Partition, PartitionKeys
from tools.typed_dicts import Key, Module, Shape, texts
from workloads import authenticator, exposure, hub, storage
from workloads.arguments import IMAGE

needed: Final = partial(Key, is_required=True)
NOTEBOOK_HUB: Final = Module(
    "components.on_kubernetes.notebook_hub_args",
    "NotebookHub",
    (
        Shape("HubToleration", (hub.Toleration,)),
        Shape("HubContents", (hub_description.Contents,)),
        Shape("HubProfile", (hub.Profile,)),
        Shape("HubCertificateFiles", (exposure.CertificateFiles,)),
        Shape("HubCertificate", (exposure.Certificate,)),
        Shape(
            "HubExpose",
            (exposure.NodePort, exposure.LoadBalancer, exposure.Ingress, exposure.Gateway, exposure.ClusterIp),
            "How users reach the proxy.",
        ),
        Shape(
            "HubSecretKey",
            (authenticator.SecretKey,),
            "A key of a Kubernetes Secret in the hub's namespace. You create the Secret; Pulumi never sees its value.",
        ),
        Shape(
            "HubAuthenticator",
            (
                authenticator.OAuthAuthenticator,
                authenticator.Lti13Authenticator,
                authenticator.ListingDummyAuthenticator,
            ),
            "Login method.",
            also=(
                Key(
                    "allow_all",
                    "bool",
                    "Every authenticated user may log in; default true, but false with oauth or a list of users.",
                ),
                Key("allowed_users", "Sequence[str]", "Only these may log in. Default: everybody; with oauth, nobody."),
            ),
        ),
        Shape("HubCull", (hub.Cull,)),
        Shape("HubNfsExport", (storage.NfsExport,)),
        Shape("HubHomes", (storage.Homes,)),
        Shape("HubDatabase", (storage.Database,)),
        Shape("HubStorage", (storage.Storage,)),
        Shape("HubCourse", (hub.Course,)),
        Shape("NotebookHubArgs", (hub.Hub,), "Arguments of NotebookHub. Times in seconds, sizes in GiB."),
    ),
)
DOCKER_HUB: Final = Module(
    "components.on_docker.docker_hub_args",
    "DockerHub",
    (
        Shape("HubKernel", (docker_hub.Kernel,), without=frozenset({"ipc"})),
        Shape("HostedProfile", (docker_hub.Profile,), without=frozenset({"pools", "ipc"})),
        Shape("HostExpose", (docker_hub.HostPort,)),
        Shape("HubCard", (docker_hub.HostedCard,)),
        Shape("DockerHubArgs", (docker_hub.Hub,), "Arguments of DockerHub. Times in seconds, sizes in GiB."),
    ),
)
SITE: Final = "Access to the cluster, as in `site.slurm` of a stack file"
OF_SITE: Final = needed("site", "Mapping[str, Any]", f"{SITE}.")
# Of a workload; what runs by Slurm is placed by `partitions`.
UNUSED_BY_SLURM: Final = frozenset({"pool", "pools", "shm_gib"})
SLURM_GPU_JOB: Final = Module(
    "components.on_slurm.slurm_gpu_job_args",
    "SlurmGpuJob",
    (
        Shape("SlurmPartition", (Partition,), "A pool the job may run on."),
        Shape(
            "SlurmGpuJobArgs",
            (SlurmJob,),
            "Arguments of SlurmGpuJob. CPU in cores, memory in GiB, both per node.",
            also=(OF_SITE, needed("sif", "pulumi.Input[str]", "Image file, such as the `path` of a SifImage.")),
            without=UNUSED_BY_SLURM | {"name"},
        ),
    ),
)
SLURM_HUB: Final = Module(
    "components.on_slurm.slurm_hub_args",
    "SlurmHub",
    (
        Shape("SlurmProfile", (slurm_hub.Profile,), without=UNUSED_BY_SLURM),
        Shape("LoginNodeExpose", (slurm_hub.LoginNodePort,)),
        Shape(
            "SlurmHubArgs",
            (slurm_hub.Hub,),
            "Arguments of SlurmHub. Times in seconds, sizes in GiB.",
            also=(needed("site", "Mapping[str, Any]", f"{SITE}; `hubs` there has the accounts of hub and users."),),
        ),
    ),
)
SLURM_SITE: Final = Module(
    "components.on_slurm.slurm_site_args",
    "SlurmSite and SifImage",
    (
        Shape(
            "SlurmPool",
            (PartitionKeys,),
            "A pool: nodes of one partition with one GPU type.",
            also=(
                needed("pool", "str", "Name of the pool."),
                needed("nodes", "int", "Expected number of nodes."),
                needed("gpus_per_node", "int", "GPUs of each."),
            ),
        ),
        Shape(
            "SlurmSiteArgs",
            (),
            "Arguments of SlurmSite.",
            also=(OF_SITE, needed("pools", "Sequence[SlurmPool]", "The declared pools.")),
        ),
        Shape(
            "SifImageArgs",
            (),
            "Arguments of SifImage.",
            also=(
                needed("image", "pulumi.Input[str]", f"{IMAGE[0].upper()}{IMAGE[1:]}."),
                needed("image_name", "str", "Image name; also the folder of its files."),
                OF_SITE,
            ),
        ),
    ),
)
GPU_JOB: Final = Module(
    "components.on_kubernetes.gpu_job_args",
    "GpuJob",
    (
        Shape(
            "GpuJobArgs",
            (Job,),
            "Arguments of GpuJob. CPU in cores, memory in GiB.",
            also=(needed("namespace", "pulumi.Input[str]", "Existing namespace for the job."),),
        ),
    ),
)
DOCKER_GPU_CONTAINER: Final = Module(
    "components.on_docker.docker_gpu_container_args",
    "DockerGpuContainer",
    (
        Shape("ContainerPort", (container_model.Port,)),
        Shape("ContainerMount", (container_model.Mount,)),
        Shape(
            "DockerGpuContainerArgs",
            (container_model.Container,),
            "Arguments of DockerGpuContainer. CPU in cores, memory in GiB.",
            also=(
                needed("network", "pulumi.Input[str]", "Network of the container, such as `network` of a DockerHost."),
            ),
            without=frozenset({"pools", "cards"}),
        ),
    ),
)
DOCKER_HOST: Final = Module(
    "components.on_docker.docker_host_args",
    "DockerHost",
    (
        Shape(
            "DockerHostArgs",
            (HostKeys,),
            "Arguments of DockerHost. CPU in cores, memory in GiB.",
            also=(
                needed("pool", "str", "Name of the pool: this one host."),
                Key(
                    "is_stand_in",
                    "bool",
                    "Another machine stands in for the host, as in a lab: differences are warnings.",
                ),
                needed("cpu", "float", "Cores of the host."),
                needed("memory_gib", "float", "Memory of the host."),
                Key("gpu", "str", "GPU model; none: the host has no GPU."),
                Key("gpus_per_node", "int", "GPUs of the host; 0 without gpu."),
                Key("driver_version", "str", "NVIDIA driver that the host must have."),
                Key("container_toolkit_version", "str", "NVIDIA container toolkit that the host must have."),
            ),
            without=frozenset({"engine_socket"}),
        ),
    ),
)
NODE_TAINT: Final = Module(
    "components.on_kubernetes.node_taint",
    "a node's taint",
    (Shape("Taint", (node_keys.Taint,), "A Kubernetes node taint."),),
)
TAGS: Final = Key("tags", "Mapping[str, str]", "Tags for all created resources.")
CLUSTER_NAME: Final = needed("cluster_name", "str", "Name of the cluster in EKS.")
REGION: Final = needed("region", "str", "Region of AWS, such as us-east-1; part of the kubeconfig.")
EKS_CLUSTER: Final = Module(
    "components.on_aws.eks_gpu_cluster_args",
    "EksGpuCluster, of an existing cluster and of a Vpc",
    (
        Shape("Network", (cluster.Network,), "A VPC for this cluster."),
        Shape(
            "VpcArgs",
            (cluster.Network,),
            "Arguments of Vpc.",
            also=(needed("cluster_name", "str", "Cluster name: load balancers find their subnets by it."), TAGS),
        ),
        Shape(
            "EksGpuClusterArgs",
            (cluster.ClusterKeys,),
            "Arguments of EksGpuCluster. Either `network` or `subnet_ids`.",
            also=(
                CLUSTER_NAME,
                REGION,
                needed("kubernetes_version", "str", 'Kubernetes version, such as "1.34".'),
                Key("subnet_ids", "Sequence[pulumi.Input[str]]", "Existing subnets in at least two zones."),
                Key(
                    "public_access_cidrs",
                    "Sequence[str]",
                    "Networks that may reach the API server from the Internet; default: it is reached from the VPC "
                    "only.",
                ),
                TAGS,
            ),
            without=frozenset({"existing", "kubernetes", "subnets", "public_access"}),
        ),
        Shape(
            "ExistingEksClusterArgs",
            (),
            "Arguments of ExistingEksCluster.",
            also=(
                CLUSTER_NAME,
                REGION,
                needed(
                    "kubernetes_version",
                    "str",
                    'Kubernetes version of the nodes, such as "1.34": the cluster\'s version or older.',
                ),
                needed("subnet_ids", "Sequence[str]", "Private subnets of the nodes."),
            ),
        ),
    ),
)
OF_NODE_GROUPS: Final = (
    needed("region", "str", "Region of AWS, such as us-east-1; it determines the AWS partition in policy ARNs."),
    needed("subnet_ids", "pulumi.Input[Sequence[pulumi.Input[str]]]", "Private subnets for the instances."),
    needed(
        "security_group_ids",
        "Sequence[pulumi.Input[str]]",
        "Security groups of the instances: the cluster security group.",
    ),
    Key(
        "cni_has_role",
        "bool",
        "The VPC CNI has its own role by Pod Identity, so the node role gets none of its rights.",
    ),
    Key("tags", "Mapping[str, str]", "Tags for all created resources, including instances and volumes."),
)
EKS_NODE_GROUP: Final = Module(
    "components.on_aws.eks_gpu_node_group_args",
    "EksGpuNodeGroup",
    (
        Shape("MachineImage", (PinnedImage,)),
        Shape(
            "EksGpuNodeGroupArgs",
            (NodeGroup,),
            "Arguments of EksGpuNodeGroup. Plain values decide what exists; inputs flow through.",
            also=(
                needed("cluster_name", "pulumi.Input[str]", "Name of the EKS cluster, also in the autoscaler's tags."),
                *OF_NODE_GROUPS,
            ),
            without=frozenset({"flatcar"}),
        ),
    ),
)
FLATCAR_NODE_GROUP: Final = Module(
    "components.on_aws.flatcar_gpu_node_group_args",
    "FlatcarGpuNodeGroup",
    (
        Shape("DownloadedProgram", (flatcar_keys.DownloadedProgram,)),
        Shape("DownloadedPrograms", (flatcar_keys.DownloadedPrograms,)),
        Shape("FlatcarOfGroup", (flatcar_keys.FlatcarKeys,)),
        Shape(
            "FlatcarGpuNodeGroupArgs",
            (NodeGroup,),
            "Arguments of FlatcarGpuNodeGroup. Plain values decide what is created; others may be outputs. An update "
            "replaces `max_unavailable` instances at a time without draining them; their pods get two minutes to end.",
            also=(
                needed("cluster_name", "str", "Name of the EKS cluster: part of tag names, so a plain value."),
                needed("endpoint", "pulumi.Input[str]", "Address of the cluster's API server."),
                needed("certificate_authority", "pulumi.Input[str]", "CA certificate in base64, as EKS returns it."),
                needed("dns", "pulumi.Input[str]", "Cluster DNS address: the tenth of its service network."),
                *OF_NODE_GROUPS,
            ),
            without=frozenset({"machine_image", "volume_throughput", "parallel_pulls", "capacity_reservation"}),
        ),
    ),
)
MODULES: Final = (
    NODE_TAINT,
    EKS_CLUSTER,
    DOCKER_HOST,
    EKS_NODE_GROUP,
    FLATCAR_NODE_GROUP,
    NOTEBOOK_HUB,
    GPU_JOB,
    DOCKER_HUB,
    DOCKER_GPU_CONTAINER,
    SLURM_GPU_JOB,
    SLURM_HUB,
    SLURM_SITE,
)


def modules() -> dict[str, str]:
    """Path of every generated module, below the project, with its text."""
    return texts(MODULES, "tools/component_arguments.py")
