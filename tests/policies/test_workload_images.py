"""Which images a workload has, the name of each, and the facts about it."""

from __future__ import annotations

from typing import Any

from image_facts import REGISTRY, contents, reference
from rows import each_row

from fleet.unknown import UNKNOWN
from imaging.size.estimate import Origin
from policies.model import Site, Workload
from policies.pod_workloads import workloads
from policies.workload_images import ImageFacts, different_images, image_facts

READ = reference("hub")
SITE = Site(
    nodes=(),
    allowed_registries=("registry.example.edu",),
    own_registry=REGISTRY,
    own_images=frozenset({"hub", "scipy-ml-notebook"}),
    contents_of={READ: contents(2, 5)}.get,
)


def deployed(spec: Any, image_name: Any = None) -> Workload:
    annotations = {"gpu-commons.org/image": image_name} if image_name else {}
    template = {"metadata": {"annotations": annotations}, "spec": spec}
    (workload,) = workloads("kubernetes:apps/v1:Deployment", "web", {"spec": {"template": template}})
    return workload


def facts(workload: Workload) -> list[ImageFacts]:
    return [image_facts(each, SITE) for each in workload.images]


def deployment(spec: Any, image_name: Any = None) -> list[ImageFacts]:
    return facts(deployed(spec, image_name))


def images(*texts: Any) -> dict[str, Any]:
    return {"containers": [{"name": str(number), "image": text} for number, text in enumerate(texts)]}


def test_an_image_comes_with_its_contents_its_size_and_who_says_so() -> None:
    (image,) = deployment(images(READ))
    assert (image.name, image.is_own) == ("hub", True)
    assert image.size is not None
    assert (image.size.compressed, image.size.unpacked, image.size.origin) == (2 * 10**9, 5 * 10**9, Origin.IMAGE)


def test_init_ordinary_and_ephemeral_containers_all_count() -> None:
    each = {"name": "c", "image": READ}
    found = deployed({"containers": [each], "initContainers": [each], "ephemeralContainers": [each]})
    assert [image.place for image in found.images] == [
        "initContainers[0].image",
        "containers[0].image",
        "ephemeralContainers[0].image",
    ]


def test_an_image_that_is_built_by_this_update_has_the_name_that_its_workload_says() -> None:
    (image,) = deployment(images(UNKNOWN), "scipy-ml-notebook")
    assert (image.text, image.reference, image.name, image.is_own) == (None, None, "scipy-ml-notebook", True)


def test_a_profile_says_the_name_of_its_image() -> None:
    profile = {"name": "ml", "image": UNKNOWN, "image_name": "scipy-ml-notebook"}
    (workload,) = workloads("gpu-commons:index:NotebookHub", "datahub", {"profiles": [profile]})
    assert [image.name for image in facts(workload)] == ["scipy-ml-notebook"]


def test_several_names_go_to_the_containers_in_order_and_the_last_one_to_those_that_follow() -> None:
    spec = {"initContainers": images(UNKNOWN, UNKNOWN)["containers"], **images(UNKNOWN)}
    assert [image.name for image in deployment(spec, "base,ml")] == ["base", "ml", "ml"]


@each_row(
    ("text", "name", "is_own"),
    [
        (reference("ml"), "ml", True),
        (f"{REGISTRY}/course/ml:1", "ml", True),
        (reference("ml", registry="registry.example.edu/gpu-commons-2"), "said", False),
        ("busybox", "said", False),
        ("registry.example.edu:5000/gpu-commons/ml", "said", False),
    ],
)
def test_our_images_are_called_as_they_are_pushed_and_others_as_their_workload_says(
    text: str, name: str, is_own: bool
) -> None:
    (image,) = deployment(images(text), "said")
    assert (image.name, image.is_own) == (name, is_own)


def test_a_container_beside_those_with_a_name_is_called_by_its_own_repository() -> None:
    assert [image.name for image in deployment(images("quay.io/a/b:1", "quay.io/c/proxy:2"), "said")] == [
        "said",
        "proxy",
    ]


def test_what_a_tag_has_is_not_known() -> None:
    (image,) = deployment(images(f"{REGISTRY}/hub:1"))
    assert image.contents is None
    assert image.size is None


@each_row("text", ["", None, 3, "no reference", {"a": 1}])
def test_what_is_no_reference_has_none(text: Any) -> None:
    (image,) = deployment(images(text), "said")
    assert image.reference is None
    assert image.name == ""


def test_containers_that_are_not_known_have_one_image_that_is_not() -> None:
    (image,) = deployed({"containers": UNKNOWN}).images
    assert (image.place, image.text) == ("containers", UNKNOWN)
    assert [image.place for image in deployed({"containers": [UNKNOWN]}).images] == ["containers[0].image"]


def test_an_image_of_several_containers_is_reported_once() -> None:
    template = {"spec": {**images(READ, READ, UNKNOWN), "initContainers": images(READ)["containers"]}}
    (workload,) = workloads("kubernetes:apps/v1:Deployment", "web", {"spec": {"template": template}})
    assert [image.name for image in different_images(workload, SITE)] == ["hub"]
