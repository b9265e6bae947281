"""What each resource of the AWS stand-in is tried with: a network, roles and a cluster that refer to each other.

`@name` is the id of another case's resource, `@name.output` an output of it, `#` is made of chance.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Values = dict[str, Any]
ADMIN = "arn:aws:iam::999999999999:role/admin"
CLUSTER_ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


def trust(service: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def allow(*actions: str) -> str:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def keep_images(count: int) -> str:
    selection = {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": count}
    return json.dumps({"rules": [{"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}]})


@dataclass(frozen=True, slots=True)
class Case:
    """`change` is updated in place, and gives `changes`; `replace` needs a new resource."""

    token: str
    inputs: Values
    change: Values = field(default_factory=dict)
    replace: Values = field(default_factory=dict)


CASES: dict[str, Case] = {
    "vpc": Case(
        "aws:ec2/vpc:Vpc",
        {"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": False, "tags": {"Name": "a", "team": "b"}},
        change={"enableDnsHostnames": True, "tags": {"Name": "c"}},
        replace={"cidrBlock": "10.1.0.0/16"},
    ),
    "subnet-a": Case(
        "aws:ec2/subnet:Subnet",
        {"vpcId": "@vpc", "cidrBlock": "10.0.0.0/24", "availabilityZone": "us-east-1a"},
        change={"mapPublicIpOnLaunch": True},
        replace={"availabilityZone": "us-east-1b"},
    ),
    "subnet-b": Case(
        "aws:ec2/subnet:Subnet", {"vpcId": "@vpc", "cidrBlock": "10.0.1.0/24", "availabilityZone": "us-east-1b"}
    ),
    "gateway": Case("aws:ec2/internetGateway:InternetGateway", {"vpcId": "@vpc"}, change={"tags": {"Name": "out"}}),
    "address": Case("aws:ec2/eip:Eip", {"domain": "vpc"}, change={"tags": {"Name": "out"}}),
    "nat": Case(
        "aws:ec2/natGateway:NatGateway",
        {"subnetId": "@subnet-a", "allocationId": "@address"},
        change={"tags": {"Name": "out"}},
        replace={"subnetId": "@subnet-b"},
    ),
    "public": Case(
        "aws:ec2/routeTable:RouteTable",
        {"vpcId": "@vpc", "routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": "@gateway"}]},
        change={"routes": [{"cidrBlock": "10.9.0.0/16", "gatewayId": "@gateway"}]},
    ),
    "private": Case("aws:ec2/routeTable:RouteTable", {"vpcId": "@vpc"}, change={"tags": {"Name": "private"}}),
    "out": Case(
        "aws:ec2/route:Route",
        {"routeTableId": "@private", "destinationCidrBlock": "0.0.0.0/0", "natGatewayId": "@nat"},
        change={"natGatewayId": None, "gatewayId": "@gateway"},
        replace={"destinationCidrBlock": "10.9.0.0/16"},
    ),
    "in-private": Case(
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        {"routeTableId": "@private", "subnetId": "@subnet-a"},
        replace={"routeTableId": "@public"},
    ),
    "s3": Case(
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        {"vpcId": "@vpc", "serviceName": "com.amazonaws.us-east-1.s3", "routeTableIds": ["@private"]},
        change={"routeTableIds": ["@private", "@public"], "tags": {"Name": "s3"}},
        replace={"serviceName": "com.amazonaws.us-east-1.dynamodb"},
    ),
    "ecr-api": Case(
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        {
            "vpcId": "@vpc",
            "serviceName": "com.amazonaws.us-east-1.ecr.api",
            "vpcEndpointType": "Interface",
            "subnetIds": ["@subnet-a"],
            "securityGroupIds": ["@firewall"],
            "privateDnsEnabled": True,
        },
        change={"subnetIds": ["@subnet-a", "@subnet-b"]},
    ),
    "firewall": Case(
        "aws:ec2/securityGroup:SecurityGroup",
        {"vpcId": "@vpc", "description": "endpoints", "tags": {"a": "1"}},
        change={"tags": {"a": "2"}},
        replace={"description": "other"},
    ),
    "https": Case(
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        {
            "securityGroupId": "@firewall",
            "ipProtocol": "tcp",
            "fromPort": 443,
            "toPort": 443,
            "cidrIpv4": "10.0.0.0/16",
            "tags": {"a": "1"},
        },
        change={"cidrIpv4": "10.0.0.0/24", "description": "from the nodes"},
        replace={"securityGroupId": "other"},
    ),
    "from-nodes": Case(
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        {"securityGroupId": "@firewall", "ipProtocol": "-1", "referencedSecurityGroupId": "@firewall"},
    ),
    "anywhere": Case(
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        {"securityGroupId": "@firewall", "ipProtocol": "-1", "cidrIpv4": "0.0.0.0/0"},
        change={"tags": {"a": "1"}},
    ),
    "template": Case(
        "aws:ec2/launchTemplate:LaunchTemplate",
        {
            "blockDeviceMappings": [
                {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 100, "volumeType": "gp3", "encrypted": "true"}}
            ],
            "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 2},
            "networkInterfaces": [{"deviceIndex": 0, "associatePublicIpAddress": "false"}],
            "tagSpecifications": [{"resourceType": "instance", "tags": {"Name": "gpu"}}],
            "userData": "YQ==",
            "updateDefaultVersion": True,
            "tags": {"a": "1"},
        },
        change={"userData": "Yg==", "tags": {"a": "2"}},
        replace={"name": "another"},
    ),
    "role": Case(
        "aws:iam/role:Role",
        {"assumeRolePolicy": trust("ec2.amazonaws.com"), "tags": {"a": "1"}},
        change={"assumeRolePolicy": trust("eks.amazonaws.com"), "description": "nodes", "tags": {"a": "2"}},
        replace={"path": "/gpu/"},
    ),
    "may": Case(
        "aws:iam/rolePolicy:RolePolicy",
        {"role": "@role", "policy": allow("ecr:GetAuthorizationToken")},
        change={"policy": allow("ecr:GetAuthorizationToken", "ecr:BatchGetImage")},
        replace={"name": "another"},
    ),
    "worker": Case(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        {"role": "@role", "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"},
        replace={"policyArn": "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"},
    ),
    "profile": Case("aws:iam/instanceProfile:InstanceProfile", {"role": "@role"}, change={"tags": {"a": "1"}}),
    "issuer": Case(
        "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
        {
            "url": "https://oidc.example.org/id/#",
            "clientIdLists": ["sts.amazonaws.com"],
            "thumbprintLists": ["9e99a48a9960b14926bb7f3b02e22da2b0ab7280"],
        },
        change={"thumbprintLists": ["0" * 40], "tags": {"a": "1"}},
        replace={"url": "https://oidc.example.org/id/other"},
    ),
    "cluster": Case(
        "aws:eks/cluster:Cluster",
        {
            "roleArn": "@role.arn",
            "version": "1.34",
            "vpcConfig": {"subnetIds": ["@subnet-a", "@subnet-b"], "endpointPrivateAccess": True},
            "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
            "enabledClusterLogTypes": ["api", "audit"],
            "tags": {"a": "1"},
        },
        change={
            "version": "1.35",
            "enabledClusterLogTypes": ["audit"],
            "upgradePolicy": {"supportType": "STANDARD"},
            "tags": {"a": "2"},
        },
        replace={"name": "another"},
    ),
    "nodes": Case(
        "aws:eks/nodeGroup:NodeGroup",
        {
            "clusterName": "@cluster",
            "nodeRoleArn": "@role.arn",
            "subnetIds": ["@subnet-a", "@subnet-b"],
            "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 1},
            "amiType": "AL2023_x86_64_NVIDIA",
            "instanceTypes": ["g6.xlarge"],
            "launchTemplate": {"id": "@template", "version": "1"},
            "releaseVersion": "1.34.1-20260601",
            "labels": {"a": "1", "b": "2"},
            "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
            "tags": {"a": "1"},
        },
        change={
            "scalingConfig": {"minSize": 1, "maxSize": 4, "desiredSize": 2},
            "releaseVersion": "1.34.2-20260714",
            "launchTemplate": {"id": "@template", "version": "2"},
            "labels": {"a": "3"},
            "taints": [{"key": "nvidia.com/gpu", "value": "yes", "effect": "NO_SCHEDULE"}],
            "updateConfig": {"maxUnavailable": 2},
            "tags": {"a": "2"},
        },
        replace={"instanceTypes": ["g6e.xlarge"]},
    ),
    "admin": Case(
        "aws:eks/accessEntry:AccessEntry",
        {"clusterName": "@cluster", "principalArn": ADMIN},
        change={"kubernetesGroups": ["viewers"], "tags": {"a": "1"}},
        replace={"principalArn": f"{ADMIN}s"},
    ),
    "may-all": Case(
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        {
            "clusterName": "@cluster",
            "principalArn": "@admin.principalArn",
            "policyArn": CLUSTER_ADMIN,
            "accessScope": {"type": "cluster"},
        },
        replace={"accessScope": {"type": "namespace", "namespaces": ["batch"]}},
    ),
    "cni": Case(
        "aws:eks/addon:Addon",
        {
            "clusterName": "@cluster",
            "addonName": "vpc-cni",
            "addonVersion": "v1.20.0-eksbuild.1",
            "configurationValues": '{"env": {"WARM_ENI_TARGET": "1"}}',
        },
        change={"addonVersion": "v1.20.1-eksbuild.1", "configurationValues": "{}"},
        replace={"addonName": "coredns"},
    ),
    "identity": Case(
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        {"clusterName": "@cluster", "namespace": "kube-system", "serviceAccount": "ebs", "roleArn": "@role.arn"},
        change={"disableSessionTags": True},
        replace={"serviceAccount": "other"},
    ),
    "flatcar": Case(
        "aws:autoscaling/group:Group",
        {
            "minSize": 0,
            "maxSize": 2,
            "desiredCapacity": 1,
            "launchTemplate": {"id": "@machine", "version": "@machine.latestVersion"},
            "vpcZoneIdentifiers": ["@subnet-a", "@subnet-b"],
            "tags": [{"key": "Name", "value": "gpu", "propagateAtLaunch": True}],
            "suspendedProcesses": ["AZRebalance"],
        },
        change={
            "maxSize": 4,
            "desiredCapacity": 2,
            "tags": [{"key": "Name", "value": "gpus", "propagateAtLaunch": True}],
            "suspendedProcesses": ["AZRebalance", "Terminate"],
            "protectFromScaleIn": True,
        },
        replace={"name": "another"},
    ),
    "machine": Case(
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"imageId": "ami-12c6146b", "instanceType": "g4dn.xlarge", "iamInstanceProfile": {"name": "@profile"}},
    ),
    "untagged": Case(
        "aws:autoscaling/group:Group",
        {
            "minSize": 0,
            "maxSize": 1,
            "vpcZoneIdentifiers": ["@subnet-a"],
            "mixedInstancesPolicy": {
                "launchTemplate": {
                    "launchTemplateSpecification": {"launchTemplateId": "@machine", "version": "$Latest"},
                    "overrides": [{"instanceType": "g4dn.xlarge"}, {"instanceType": "g4dn.2xlarge"}],
                },
                "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 0},
            },
        },
    ),
    "hint": Case(
        "aws:autoscaling/tag:Tag",
        {
            "autoscalingGroupName": "@untagged",
            "tag": {
                "key": "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu",
                "value": "1",
                "propagateAtLaunch": False,
            },
        },
        change={
            "tag": {
                "key": "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu",
                "value": "4",
                "propagateAtLaunch": False,
            }
        },
        replace={"tag": {"key": "other", "value": "1", "propagateAtLaunch": False}},
    ),
    "images": Case(
        "aws:ecr/repository:Repository",
        {"imageTagMutability": "IMMUTABLE", "imageScanningConfiguration": {"scanOnPush": True}, "tags": {"a": "1"}},
        change={"imageTagMutability": "MUTABLE", "tags": {"a": "2"}},
        replace={"name": "another"},
    ),
    "few-images": Case(
        "aws:ecr/lifecyclePolicy:LifecyclePolicy",
        {"repository": "@images", "policy": keep_images(10)},
        change={"policy": keep_images(20)},
        replace={"repository": "another"},
    ),
}
