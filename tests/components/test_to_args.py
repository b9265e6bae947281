"""Settings become arguments of components."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from stack_inputs import hub_args, image_args, job_args, pool_args, runtime_args

from imaging.spec.load import load_family
from imaging.spec.model import ImageSpec
from imaging.spec.problems import SpecError
from imaging.spec.runtime import Runtime
from platforms.kubernetes.hub import parse_hub
from platforms.kubernetes.user_pods import render_options
from settings import resolve
from settings.models import Image, Substitute
from settings.reading import SettingsError, Stack, load_stack

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.dsmlp-fall.yaml"


MIXED = Path(__file__).parents[1] / "stacks" / "Pulumi.mixed.yaml"


@pytest.fixture(scope="module")
def stack() -> Stack:
    return load_stack(STACK)


@pytest.fixture
def refs(stack: Stack) -> dict[str, Any]:
    return {image.name: f"registry.example.edu/{image.name}@sha256:{'0' * 64}" for image in stack.images}


def test_parents_are_built_before_their_children(stack: Stack) -> None:
    backwards = stack.model_copy(update={"images": tuple(reversed(stack.images))})
    order = list(resolve.images_in_order(backwards))
    assert order.index(("datahub-base-notebook", None)) < order.index(("scipy-ml-notebook", "datahub-base-notebook"))
    assert sorted(name for name, _ in order) == ["datahub-base-notebook", "hub", "proxy", "scipy-ml-notebook"]


def test_both_machine_learning_images_of_dsmlp_next_stand_on_one_parent() -> None:
    order = list(resolve.images_in_order(load_stack(STACK.with_name("Pulumi.dsmlp-next.yaml"))))
    children = [("scipy-ml-notebook", "datahub-base-notebook"), ("scipy-ml-notebook-cu126", "datahub-base-notebook")]
    assert sorted(order[order.index(("datahub-base-notebook", None)) + 1 :])[-2:] == children


def test_a_parent_that_the_stack_does_not_build_is_named(stack: Stack) -> None:
    only_the_child = stack.model_copy(update={"images": stack.images[-1:]})
    with pytest.raises(SettingsError, match=r"images\[0\]\.name: .*stands on our datahub-base-notebook"):
        list(resolve.images_in_order(only_the_child))


def test_the_odd_pool_keeps_its_seven_gpus(stack: Stack) -> None:
    args = pool_args(stack.fleet.pool("gtx1070ti"))
    assert args["node_names"] == ["n10"]
    assert args["gpus_per_node"] == 7
    assert args["gpu"] == "GeForce GTX 1070 Ti"
    assert args["driver_version"] == "418.88"


def test_a_pool_without_gpus_is_labelled_and_gets_no_daemon_for_gpus() -> None:
    mixed = load_stack(MIXED)
    assert pool_args(mixed.fleet.pool("cpu")) == {"pool": "cpu", "node_names": ["c01", "c02"]}
    assert (runtime_args(mixed) or {}).get("pools") == ["gtx1080ti", "rtx2080ti"]


@pytest.fixture
def mixed() -> Stack:
    return load_stack(MIXED)


def test_a_profile_and_a_job_of_several_pools_name_them_all(mixed: Stack, refs: dict[str, Any]) -> None:
    args = hub_args(mixed, mixed.hubs[0], refs)
    assert [(each.get("pool"), each.get("pools")) for each in args["profiles"]] == [
        (None, None),
        ("gtx1080ti", None),
        (None, ["gtx1080ti", "rtx2080ti"]),
    ]
    jobs = [job_args(mixed, job, refs) for job in mixed.jobs]
    assert [(args.get("pool"), args.get("pools")) for args in jobs] == [
        (None, ["gtx1080ti", "rtx2080ti"]),
        ("cpu", None),
    ]


def test_people_read_every_gpu_that_a_profile_may_get_and_a_size_that_all_have(
    mixed: Stack, refs: dict[str, Any]
) -> None:
    any_gpu = hub_args(mixed, mixed.hubs[0], refs)["profiles"][2]
    assert (any_gpu["gpu"], any_gpu["gpu_memory_gb"]) == ("GeForce GTX 1080 Ti or GeForce RTX 2080 Ti", 11)


def test_every_pool_of_a_profile_gets_its_image_ahead_of_time_and_counts_for_its_start(
    mixed: Stack,
) -> None:
    hub = mixed.hubs[0].model_copy(update={"pre_pull": True})
    assert {pool: list(images) for pool, images in resolve.pre_pulled(mixed, hub).items()} == {
        "cpu": ["datahub-base-notebook"],
        "gtx1080ti": ["scipy-ml-notebook"],
        "rtx2080ti": ["scipy-ml-notebook"],
    }
    assert [each["pool"] for each in resolve.image_pools(mixed, "scipy-ml-notebook")] == ["gtx1080ti", "rtx2080ti"]


def test_only_the_nodes_that_differ_get_a_driver_of_their_own(mixed: Stack) -> None:
    args = pool_args(mixed.fleet.pool("gtx1080ti"))
    assert (args["driver_version"], args["node_names"]) == ("418.88", ["n01", "n02", "n03"])
    assert args["node_drivers"] == {"n02": "580.95.05"}
    assert args["node_container_toolkits"] == {"n02": "1.17.8"}
    assert not {"node_drivers", "node_container_toolkits"} & pool_args(mixed.fleet.pool("rtx2080ti")).keys()


def test_a_fleet_with_gpus_everywhere_names_no_pools_to_the_runtime(stack: Stack) -> None:
    assert "pools" not in (runtime_args(stack) or {"pools": None})


def test_a_stack_labels_the_nodes_of_its_fleet_and_none_of_a_fleet_that_somebody_else_manages(stack: Stack) -> None:
    assert [pool.name for pool in resolve.managed_pools(stack)] == ["gtx1080ti", "rtx2080ti", "gtx1070ti"]
    fleet = stack.fleet.model_copy(update={"managed_by": "dsmlp-core"})
    assert resolve.managed_pools(stack.model_copy(update={"fleet": fleet})) == ()


def test_a_hub_gets_its_profiles_with_the_images_that_were_pushed(stack: Stack, refs: dict[str, Any]) -> None:
    args = hub_args(stack, stack.hubs[0], refs)
    assert [profile["name"] for profile in args["profiles"]] == ["cpu", "gtx1080ti", "rtx2080ti"]
    assert args["profiles"][1]["image"] == refs["scipy-ml-notebook"]
    assert args["profiles"][1]["gpus"] == 1
    assert args["authenticator"]["kind"] == "lti13"
    assert args["core_pool"] == "gtx1080ti"


LTI = """      kind: lti13
      issuer: https://canvas.example.edu
      authorize_url: https://canvas.example.edu/authorize
      jwks_endpoint: https://canvas.example.edu/jwks
      client_ids: ["1"]
"""
OAUTH = """      kind: oauth
      client_id: hub
      client_secret: {secret: datahub-oauth, key: client-secret}
      callback_url: https://hub.example.edu/hub/oauth_callback
      authorize_url: https://login.example.edu/authorize
      token_url: https://login.example.edu/token
      userdata_url: https://login.example.edu/userinfo
"""
LISTED = "      allowed_users: [grace, ada]\n      admins: [barbara]\n"
EVERYBODY: dict[str, Any] = {"admin_users": [], "allow_all": True, "allowed_users": []}
SOME: dict[str, Any] = {"admin_users": ["barbara"], "allow_all": False, "allowed_users": ["ada", "grace"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("login", "class_name", "who"),
    [
        pytest.param("      kind: dummy\n", "shared-password", EVERYBODY, id="dummy"),
        pytest.param(
            "      kind: dummy\n      admins: [barbara]\n",
            "shared-password",
            {**EVERYBODY, "admin_users": ["barbara"]},
            id="dummy with an administrator",
        ),
        pytest.param(LTI, "ltiauthenticator.lti13.auth.LTI13Authenticator", EVERYBODY, id="lti13"),
        pytest.param(
            LTI + "      allow_all: false\n" + LISTED,
            "ltiauthenticator.lti13.auth.LTI13Authenticator",
            SOME,
            id="lti13 for some",
        ),
        pytest.param(
            OAUTH + "      allow_all: true\n", "oauthenticator.generic.GenericOAuthenticator", EVERYBODY, id="oauth"
        ),
        pytest.param(OAUTH + LISTED, "oauthenticator.generic.GenericOAuthenticator", SOME, id="oauth for some"),
    ],
)
def test_every_login_of_a_stack_file_becomes_the_configuration_of_a_hub(
    login: str, class_name: str, who: dict[str, Any], tmp_path: Path
) -> None:
    text = STACK.read_text()
    given = text[text.index("      kind: lti13") : text.index("    assumptions: [name, registry")]
    file = tmp_path / "Pulumi.login.yaml"
    file.write_text(text.replace(given, login).replace("    name: dsmlp\n", "    name: dsmlp\n    lab: true\n"))
    stack = load_stack(file)
    images = {image.name: f"registry.example.edu/{image.name}@sha256:{'0' * 64}" for image in stack.images}
    hub = parse_hub("datahub", hub_args(stack, stack.hubs[0], images))
    options = json.loads(render_options(hub))
    assert options["JupyterHub"]["authenticator_class"] == class_name
    assert options["Authenticator"] == who
    secret = hub.login.client_secret
    assert (secret and (secret.secret, secret.key)) == (
        ("datahub-oauth", "client-secret") if "oauth" in login else None
    )


def test_the_spawn_page_gets_the_site_the_gpus_and_what_is_in_the_images(stack: Stack, refs: dict[str, Any]) -> None:
    hub = stack.hubs[0].model_copy(update={"help_url": "https://help.example.edu/gpus"})
    args = hub_args(stack, hub, refs)
    assert (args["site_name"], args["help_url"]) == ("dsmlp", "https://help.example.edu/gpus")
    cpu, gpu, _ = args["profiles"]
    assert (gpu["gpu"], gpu["gpu_memory_gb"]) == ("GeForce GTX 1080 Ti", 11)
    assert gpu["contents"]["frameworks"] == ["TensorFlow 2.3.4", "PyTorch 1.7.1"]
    assert "missing" not in gpu["contents"]
    assert not {"gpu", "gpu_memory_gb"} & cpu.keys(), "it lands on a node with GPUs, and gets none"


def test_the_spawn_page_of_a_site_with_substitutes_says_what_is_missing(stack: Stack, refs: dict[str, Any]) -> None:
    nothing = Substitute.model_validate({"reference": "conda-forge", "with": "nothing", "reason": "no way out"})
    site = stack.site.model_copy(update={"substitutes": (nothing,)})
    gpu = hub_args(stack.model_copy(update={"site": site}), stack.hubs[0], refs)["profiles"][1]
    assert gpu["contents"]["missing"][:2] == ["TensorFlow 2.3.4", "PyTorch 1.7.1"]
    assert gpu["contents"]["missing_reason"] == "no way out"
    assert "frameworks" not in gpu["contents"]


def test_a_hub_gets_the_courses_that_use_it_for_reviewers_of_a_change(stack: Stack, refs: dict[str, Any]) -> None:
    args = hub_args(stack, stack.hubs[0], refs)
    assert args["courses"] == [
        {
            "name": "ml-intro",
            "title": "Introduction to machine learning",
            "seats": 180,
            "profiles": ["cpu", "gtx1080ti"],
            "peak_share": 0.2,
            "guaranteed_gpus": 36,
            "first_day": "2020-10-01",
            "last_day": "2020-12-18",
        },
        {
            "name": "deep-learning",
            "title": "Deep learning",
            "seats": 120,
            "profiles": ["gtx1080ti", "rtx2080ti"],
            "peak_share": 0.4,
            "guaranteed_gpus": 48,
            "first_day": "2020-10-01",
            "last_day": "2020-12-18",
        },
    ]
    alone = stack.model_copy(update={"courses": ()})
    assert "courses" not in hub_args(alone, alone.hubs[0], refs)


def test_a_job_gets_no_argument_that_was_not_set(stack: Stack, refs: dict[str, Any]) -> None:
    args = job_args(stack, stack.jobs[0], refs)
    assert None not in args.values()
    assert args["gpus"] == 1


@pytest.fixture
def demanding(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The stack, where the image of the GPU profiles asks for 2 GiB of shared memory."""

    def load(name: str, *, target: str | None = None) -> tuple[ImageSpec, ...]:
        first, *others = load_family(name, target=target)
        if name == "scipy-ml-notebook":
            first = first.model_copy(update={"runtime": Runtime(shm_gib=2)})
        return (first, *others)

    monkeypatch.setattr(resolve, "load_family", load)
    return stack


def test_a_profile_that_says_nothing_of_shared_memory_takes_what_its_image_asks_for(
    demanding: Stack, refs: dict[str, Any]
) -> None:
    hub = demanding.hubs[0]
    explicit = hub.profiles[2].model_copy(update={"shm_gib": 5.0})
    hub = hub.model_copy(update={"profiles": (*hub.profiles[:2], explicit)})
    profiles = hub_args(demanding, hub, refs)["profiles"]
    assert [profile.get("shm_gib") for profile in profiles] == [None, 2, 5]  # another image, the image's, explicit


def test_a_job_that_says_nothing_of_shared_memory_takes_what_its_image_asks_for(
    demanding: Stack, refs: dict[str, Any]
) -> None:
    job = demanding.jobs[0].model_copy(update={"image": "scipy-ml-notebook", "shm_gib": None})
    assert job_args(demanding, job, refs)["shm_gib"] == 2
    explicit = job.model_copy(update={"shm_gib": 0.5})
    assert job_args(demanding, explicit, refs)["shm_gib"] == 0.5


def test_shared_memory_that_an_image_asks_for_must_fit_into_the_memory_of_each_profile_and_job(
    demanding: Stack,
) -> None:
    hub, job = demanding.hubs[0], demanding.jobs[0]
    others = hub.profiles[:2]
    small, own = (hub.profiles[2].model_copy(update={"memory_gib": 1.0, "shm_gib": shm}) for shm in (None, 0.5))
    hub = hub.model_copy(update={"profiles": (*others, small, own)})
    jobs = (job.model_copy(update={"image": "scipy-ml-notebook", "memory_gib": 1.5, "shm_gib": None}),)
    with pytest.raises(SettingsError) as caught:
        list(resolve.images_in_order(demanding.model_copy(update={"hubs": (hub,), "jobs": jobs})))
    reason = "is below the 2 GiB of shared memory of image scipy-ml-notebook"
    fix = "write 2 or more, or a shm_gib of its own: shared memory is part of the memory"
    assert [str(each) for each in caught.value.problems] == [
        f"hubs[0].profiles[2].memory_gib: 1 {reason}\n    {fix}",
        f"jobs[0].memory_gib: 1.5 {reason}\n    {fix}",
    ]


def test_without_a_word_of_shared_memory_anywhere_the_components_decide(stack: Stack, refs: dict[str, Any]) -> None:
    assert "shm_gib" not in job_args(stack, stack.jobs[0], refs)
    assert not any("shm_gib" in profile for profile in hub_args(stack, stack.hubs[0], refs)["profiles"])


def test_a_target_is_an_image_with_a_repository_of_its_own(stack: Stack) -> None:
    both = (Image(name="cupy-notebook"), Image(name="cupy-notebook", target="batch"))
    stack = stack.model_copy(update={"images": both})
    assert list(resolve.images_in_order(stack)) == [("cupy-notebook", None), ("cupy-notebook-batch", None)]
    args = [image_args(stack, name) for name in ("cupy-notebook", "cupy-notebook-batch")]
    assert [(each["image"], each.get("target"), each["repository"]) for each in args] == [
        ("cupy-notebook", None, "registry.example.edu/gpu-commons/cupy-notebook"),
        ("cupy-notebook", "batch", "registry.example.edu/gpu-commons/cupy-notebook-batch"),
    ]


def test_a_target_that_the_image_does_not_have_stops_the_program_with_those_it_has(stack: Stack) -> None:
    wrong = stack.model_copy(update={"images": (Image(name="cupy-notebook", target="bach"),)})
    with pytest.raises(SpecError, match="did you mean batch"):
        list(resolve.images_in_order(wrong))


def test_each_pool_of_a_hub_gets_the_images_that_land_there(stack: Stack) -> None:
    assert resolve.pre_pulled(stack, stack.hubs[0].model_copy(update={"pre_pull": False})) == {}
    hub = stack.hubs[0].model_copy(update={"pre_pull": True})
    assert {pool: list(images) for pool, images in resolve.pre_pulled(stack, hub).items()} == {
        "gtx1080ti": ["datahub-base-notebook", "scipy-ml-notebook"],
        "rtx2080ti": ["scipy-ml-notebook"],
    }


def test_an_image_lands_on_the_pools_of_its_profiles_and_jobs_with_what_the_stack_says_of_them(stack: Stack) -> None:
    def pools(image: str, here: Stack = stack) -> list[str]:
        return [each["pool"] for each in resolve.image_pools(here, image)]

    assert pools("datahub-base-notebook") == ["gtx1080ti"]  # the core pool
    assert pools("scipy-ml-notebook") == ["gtx1080ti", "rtx2080ti"]
    assert pools("proxy") == []
    (job,) = stack.jobs
    anywhere = job.model_copy(update={"pool": None, "image": "proxy", "gpus": 8})
    assert pools("proxy", stack.model_copy(update={"jobs": (anywhere,)})) == ["gtx1080ti", "rtx2080ti"]
    first, *others = stack.fleet.pools
    measured = first.model_copy(update={"pull_mb_per_s": 80, "assumptions": ()})
    guessed = others[0].model_copy(update={"disk_mb_per_s": 200, "assumptions": ("disk_mb_per_s",)})
    fleet = stack.fleet.model_copy(update={"pools": (measured, guessed, others[1])})
    assert resolve.image_pools(stack.model_copy(update={"fleet": fleet}), "scipy-ml-notebook") == [
        {"pool": "gtx1080ti", "pull_mb_per_s": 80.0, "rates_are_planned": False},
        {"pool": "rtx2080ti", "disk_mb_per_s": 200.0, "rates_are_planned": True},
    ]


def test_images_carry_the_sites_substitutes(stack: Stack) -> None:
    here = {"reference": "conda-forge", "with": "nothing", "reason": "offline"}
    site = stack.site.model_copy(update={"substitutes": (Substitute.model_validate(here),)})
    args = image_args(stack.model_copy(update={"site": site}), "hub")
    assert args["substitutes"] == [here]
    assert args["repository"] == "registry.example.edu/gpu-commons/hub"


def test_without_a_policy_pack_the_program_stops_and_says_how_to_go_on(program: ModuleType) -> None:
    with pytest.raises(SettingsError, match="PULUMI_OPTION_POLICY_PACK: is not set") as caught:
        program.require_policies({})
    assert 'GPU_COMMONS_WITHOUT_POLICIES="…"' in str(caught.value)


def test_a_reason_lets_it_go_on_and_is_returned_for_printing(program: ModuleType) -> None:
    assert program.require_policies({"GPU_COMMONS_WITHOUT_POLICIES": " first bootstrap "}) == "first bootstrap"
    assert program.require_policies({"PULUMI_OPTION_POLICY_PACK": "policies"}) is None


def test_an_empty_reason_is_no_reason(program: ModuleType) -> None:
    with pytest.raises(SettingsError):
        program.require_policies({"GPU_COMMONS_WITHOUT_POLICIES": "  "})
