"""Identities: roles with their policies, instance profiles, OpenID Connect providers.

Sources: pulumi.com/registry/packages/aws/api-docs/iam and github.com/hashicorp/terraform-provider-aws,
internal/service/iam (which change needs a new resource: `ForceNew`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lab.providers.aws.declarations import (
    TAGS,
    Call,
    Input,
    Kind,
    Read,
    Resource,
    Scope,
    Tagging,
    all_of,
    fixed,
    required,
)
from lab.providers.values import Properties

NOT_THERE: Final = ("NoSuchEntity", "NoSuchEntityException")


def _tagging(kind: str, whose: str) -> Tagging:
    return Tagging(
        tag=Call(f"Tag{kind}", {whose: "$id", "tags": "$added"}),
        untag=Call(f"Untag{kind}", {whose: "$id", "tagKeys": "$removed"}),
    )


ROLE: Final = Resource(
    "aws:iam/role:Role",
    service="iam",
    is_global=True,
    inputs={
        "name": fixed(read="roleName"),
        "assumeRolePolicy": required(Kind.JSON, read="assumeRolePolicyDocument"),
        "description": Input(),
        "forceDetachPolicies": Input(default=False, read="-"),
        "maxSessionDuration": Input(default=3600),
        "path": Input(replaces=True, default="/"),
        "permissionsBoundary": Input(read="permissionsBoundary.permissionsBoundaryArn"),
        "tags": TAGS,
    },
    named="name",
    name_length=64,
    create=Call(
        "CreateRole",
        all_of(
            "description",
            "maxSessionDuration",
            "path",
            "permissionsBoundary",
            "tags",
            roleName="$name",
            assumeRolePolicyDocument="$assumeRolePolicy",
        ),
    ),
    parts=("name",),
    updates=(
        Call(
            "UpdateAssumeRolePolicy",
            {"roleName": "$id", "policyDocument": "$assumeRolePolicy"},
            when=("assumeRolePolicy",),
        ),
        Call(
            "UpdateRole",
            all_of("description", "maxSessionDuration", roleName="$id"),
            when=("description", "maxSessionDuration"),
        ),
        Call(
            "PutRolePermissionsBoundary",
            all_of("permissionsBoundary", roleName="$id"),
            when=("permissionsBoundary",),
            each=lambda scope: ({},) if scope.new.get("permissionsBoundary") else (),
        ),
        Call(
            "DeleteRolePermissionsBoundary",
            {"roleName": "$id"},
            when=("permissionsBoundary",),
            each=lambda scope: () if scope.new.get("permissionsBoundary") else ({},),
        ),
    ),
    reads=(Read("GetRole", {"roleName": "$id"}, "role"),),
    delete=(Call("DeleteRole", {"roleName": "$id"}),),
    gone=NOT_THERE,
    outputs={"arn": "arn", "createDate": "createDate", "uniqueId": "roleId"},
    tagging=_tagging("Role", "roleName"),
)

PUT_ROLE_POLICY: Final = {"roleName": "$role", "policyName": "$name", "policyDocument": "$policy"}

ROLE_POLICY: Final = Resource(
    "aws:iam/rolePolicy:RolePolicy",
    service="iam",
    is_global=True,
    inputs={
        "name": fixed(read="policyName"),
        "role": required(replaces=True, read="roleName"),
        "policy": required(Kind.JSON, read="policyDocument"),
    },
    named="name",
    name_length=128,
    create=Call("PutRolePolicy", PUT_ROLE_POLICY),
    parts=("role", "name"),
    updates=(Call("PutRolePolicy", PUT_ROLE_POLICY, when=("policy",)),),
    reads=(Read("GetRolePolicy", {"roleName": "$role", "policyName": "$name"}, ""),),
    delete=(Call("DeleteRolePolicy", {"roleName": "$role", "policyName": "$name"}),),
    gone=NOT_THERE,
)

ROLE_POLICY_ATTACHMENT: Final = Resource(
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    service="iam",
    is_global=True,
    inputs={"role": required(replaces=True), "policyArn": required(replaces=True)},
    create=Call("AttachRolePolicy", {"roleName": "$role", "policyArn": "$policyArn"}),
    parts=("role", "policyArn"),
    separator="/",
    reads=(
        Read("ListAttachedRolePolicies", {"roleName": "$role"}, "attachedPolicies[?policyArn=='{policyArn}'] | [0]"),
    ),
    delete=(Call("DetachRolePolicy", {"roleName": "$role", "policyArn": "$policyArn"}),),
    gone=NOT_THERE,
)


def _role_left(scope: Scope) -> Iterable[Properties]:
    before = (scope.old or scope.state).get("role")
    return ({"leftRole": before},) if before else ()


ADD_ROLE: Final = Call(
    "AddRoleToInstanceProfile",
    {"instanceProfileName": "$id", "roleName": "$role"},
    when=("role",),
    each=lambda scope: ({},) if scope.new.get("role") else (),
)
REMOVE_ROLE: Final = Call(
    "RemoveRoleFromInstanceProfile",
    {"instanceProfileName": "$id", "roleName": "$leftRole"},
    when=("role",),
    each=_role_left,
    forgives=NOT_THERE,
)

INSTANCE_PROFILE: Final = Resource(
    "aws:iam/instanceProfile:InstanceProfile",
    service="iam",
    is_global=True,
    inputs={
        "name": fixed(read="instanceProfileName"),
        "path": Input(replaces=True, default="/"),
        "role": Input(read="roles[0].roleName"),
        "tags": TAGS,
    },
    named="name",
    name_length=128,
    create=Call("CreateInstanceProfile", all_of("path", "tags", instanceProfileName="$name")),
    parts=("name",),
    completes=(ADD_ROLE,),
    updates=(REMOVE_ROLE, ADD_ROLE),
    reads=(Read("GetInstanceProfile", {"instanceProfileName": "$id"}, "instanceProfile"),),
    delete=(REMOVE_ROLE, Call("DeleteInstanceProfile", {"instanceProfileName": "$id"})),
    gone=NOT_THERE,
    outputs={"arn": "arn", "createDate": "createDate", "uniqueId": "instanceProfileId"},
    tagging=_tagging("InstanceProfile", "instanceProfileName"),
)


def _url(live: Properties) -> str:
    """The address as given: IAM keeps it without its scheme."""
    url = str(live.get("url", ""))
    return url if url.startswith("https://") else f"https://{url}"


PROVIDER_ARN: Final = "openIDConnectProviderArn"

OPEN_ID_CONNECT_PROVIDER: Final = Resource(
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
    service="iam",
    is_global=True,
    inputs={
        "url": required(replaces=True, read=_url),
        # The official provider adds and removes clients; moto lacks that operation.
        "clientIdLists": required(Kind.SET, replaces=True, read="clientIDList"),
        "thumbprintLists": Input(is_kept=True, read="thumbprintList"),
        "tags": TAGS,
    },
    create=Call(
        "CreateOpenIDConnectProvider",
        all_of("url", "tags", clientIDList="$clientIdLists", thumbprintList="$thumbprintLists"),
    ),
    identifier=PROVIDER_ARN,
    updates=(
        Call(
            "UpdateOpenIDConnectProviderThumbprint",
            {PROVIDER_ARN: "$id", "thumbprintList": "$thumbprintLists"},
            when=("thumbprintLists",),
        ),
    ),
    reads=(Read("GetOpenIDConnectProvider", {PROVIDER_ARN: "$id"}, "@"),),
    delete=(Call("DeleteOpenIDConnectProvider", {PROVIDER_ARN: "$id"}),),
    gone=NOT_THERE,
    outputs={"arn": "={id}"},
    tagging=_tagging("OpenIDConnectProvider", PROVIDER_ARN),
)
