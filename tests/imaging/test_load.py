"""A spec with mistakes is refused with one message that names them all; a correct one says what it asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rows import each_row

from imaging.build.labels import labels
from imaging.spec.load import context_files, load_family, load_spec
from imaging.spec.plan import plan_image
from imaging.spec.problems import SpecError
from imaging.spec.targets import target_specs

Tiny = Callable[..., Path]
TORCH = {
    "name": "torch",
    "title": "Torch",
    "python": "3.8.20",
    "pypi": ["torch==1.7.1+cu101", "ipykernel==6.29.5"],
    "cuda": {"line": "10.1", "source": "wheels"},
}
CONDA_CUDA = {
    "line": "10.1",
    "source": "conda",
    "packages": ["cudatoolkit=10.1.243", "cudnn=7.6.5.32", "nccl=2.8.3.1"],
}
RUNTIME = "docker.io/nvidia/cuda:12.6.3-runtime-ubuntu22.04"
ON_CUDA = {"reference": RUNTIME, "digest_note": "none yet", "layout": "debian"}


def kernel(**changes: Any) -> dict[str, Any]:
    """The keys of a spec with one kernel, changed like this."""
    return {"kernels": [{**TORCH, **changes}]}


def refusal(folder: Path) -> str:
    with pytest.raises(SpecError) as caught:
        load_spec(folder)
    return str(caught.value)


def test_the_images_of_the_project_are_correct_and_say_which_cuda_they_ask_for() -> None:
    lines = {
        "hub": (),
        "proxy": (),
        "datahub-base-notebook": (),
        "scipy-ml-notebook": ("10.1",),
        "scipy-ml-notebook-cu126": ("12.5", "12.6"),
        "cupy-notebook": ("12.9",),
        "perceptron": ("12.8",),
        "cupy-cuda11": ("11.8",),
    }
    assert {name: load_family(name)[0].cuda_lines for name in lines} == lines


def test_the_machine_learning_image_stands_on_the_base_notebook() -> None:
    assert [spec.name for spec in load_family("scipy-ml-notebook")] == ["scipy-ml-notebook", "datahub-base-notebook"]


def test_servers_have_the_jupyterhub_of_the_hub() -> None:
    pins = {
        spec.full_name: pin
        for name in ("hub", "datahub-base-notebook", "cupy-notebook")
        for spec in (load_family(name)[0], *target_specs(load_family(name)[0]))
        for pin in spec.server_wheels
        if pin.startswith("jupyterhub==")
    }
    assert set(pins) == {"hub", "datahub-base-notebook", "cupy-notebook", "cupy-notebook-gateway-client"}
    assert len(set(pins.values())) == 1


def test_the_frameworks_for_driver_418_88_are_the_last_of_cuda_10_1() -> None:
    assert load_family("scipy-ml-notebook")[0].frameworks == ("tensorflow==2.3.4", "torch==1.7.1+cu101")


def test_the_frameworks_for_cuda_12_6_are_those_of_pypis_plain_wheels_with_their_extras() -> None:
    frameworks = load_family("scipy-ml-notebook-cu126")[0].frameworks
    assert frameworks == ("torch==2.7.1", "tensorflow[and-cuda]==2.19.0")


@pytest.mark.slow
@each_row(
    ("changes", "words"),
    [
        ({"ports": ["8888"]}, ('ports[0]: "8888"', "integer")),
        ({"versoin": "1"}, ('versoin: "1" is not a key of an image spec',)),
        ({"title": None}, ("title: is missing", "add it")),
        ({"version": 1.1}, ("version: 1.1", 'quote it: "10.1" is text')),
        ({"user": {"name": "root", "uid": 0, "gid": 100, "home": "/root"}}, ("user.uid: 0", "not root")),
        ({"env": {"NVIDIA_VISIBLE_DEVICES": "all"}}, ("env.NVIDIA_VISIBLE_DEVICES", "chooses GPUs")),
        ({"python": {"packages": ["jupyterhub"]}}, ('python.packages[0].pypi: "jupyterhub" is not an exact pin',)),
        ({"python": {"packages": ["jupyterhub>=5"]}}, ("is not an exact pin such as numpy==2.4.6",)),
        ({"python": {"packages": ["jupyterhub==5.*"]}}, ("is not an exact pin such as numpy==2.4.6",)),
        ({"base": {"reference": "debian", "layout": "debian", "digest_note": "none"}}, ("a tag that stays",)),
        ({"base": {"reference": "debian:latest", "layout": "debian", "digest_note": "x"}}, ("a tag that stays",)),
        ({"base": {"reference": "debian:12", "layout": "debian"}}, ("needs digest, or digest_note",)),
        ({"base": {"reference": "Debian:12", "layout": "debian"}}, ("is not an image reference",)),
        ({"base": {}}, ("either image (one of ours) or reference",)),
        ({"files": [{"source": "../secret", "target": "/etc/x"}]}, ("is not a path inside the image's own folder",)),
        ({"folders": ["logs"]}, ('folders[0]: "logs"', "write it in that form")),
        ({"folders": ["/logs/../etc"]}, ('folders[0]: "/logs/../etc"', "write it in that form")),
        ({"command": None}, ("needs a command",)),
        ({"labels": {"org.gpu-commons.image": "x"}}, ('labels["org.gpu-commons.image"]', "is written by us")),
        ({"labels": {"org.opencontainers.image.title": "x"}}, ("is written by us from the other keys",)),
        ({"labels": {"Course": "x"}}, ("labels.Course", "does not look like")),
        # What an image asks of whoever runs it
        ({"runtime": {"shm_gib": 0}}, ("runtime.shm_gib: 0", "greater than 0")),
        ({"runtime": {"memlock": "lots"}}, ('runtime.memlock: "lots" is neither a number of bytes nor "unlimited"',)),
        ({"runtime": {"memlock": -1}}, ("runtime.memlock: -1 is neither a number",)),
        ({"runtime": {"memlock": True}}, ("runtime.memlock: true is neither a number",)),
        ({"runtime": {"stack_mib": 0.5}}, ("runtime.stack_mib: 0.5", "integer")),
        ({"runtime": {"ipc": "shareable"}}, ("runtime.ipc", "host")),
        ({"runtime": {"ipc": "host", "shm_gib": 1}}, ("runtime:", "choose one")),
        ({"runtime": {"shm": 1}}, ("runtime.shm: 1 is not a key of an image spec",)),
        # A kernel has exactly one CUDA, and all of it is pinned
        (kernel(cuda={**CONDA_CUDA, "packages": ["cudatoolkit=10.1.243"]}), ("cudnn has none",)),
        (kernel(cuda={**CONDA_CUDA, "line": "10.0"}), ("says line 10.0, but cudatoolkit 10.1.243",)),
        (kernel(cuda={**CONDA_CUDA, "packages": ["cudnn"]}), ("is not an exact conda pin",)),
        (kernel(cuda=CONDA_CUDA), ("whose wheel brings CUDA, and conda's as well: choose one",)),
        (kernel(cuda={"line": "10.2", "source": "wheels"}), ("needs cuda.line of that build",)),
        (
            kernel(cuda={"line": "10.1", "source": "wheels", "packages": ["nvidia-cudnn-cu10==7.6.5"]}),
            ("has nvidia-cudnn-cu10==7.6.5 in cuda.packages: the wheels of a kernel are in its pypi",),
        ),
        (kernel(cuda={"line": 10.1, "source": "wheels"}), ("valid string",)),
        (kernel(pypi=["torch==1.7.1+cu101"]), ("needs a pin of ipykernel",)),
        (
            {"base": ON_CUDA, **kernel(pypi=["ipykernel==6.29.5"], cuda={"line": "12.6", "source": "base"})},
            ("an environment of its own",),
        ),
        (
            {
                "base": ON_CUDA,
                "cuda": {"line": "12.6", "source": "base", "packages": ["nvidia-cuda-runtime-cu12==12.6.77"]},
            },
            ("would duplicate it: choose one",),
        ),
        ({"kernels": [TORCH, TORCH]}, ("two kernels of one name",)),
        (
            {"python": {"packages": ["jupyterhub==5.5.5"]}},
            ('"jupyterhub==5.5.5" does not match requirements.lock, which has 5.5.4', "gpu-commons image lock tiny"),
        ),
    ],
)
def test_a_mistake_is_named_with_path_value_and_what_to_change(
    tiny: Tiny, changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    message = refusal(tiny(**changes))
    assert message.startswith("images/tiny/image.yaml: ")
    for word in words:
        assert word in message
    assert len(message.splitlines()) == 2  # the mistake, and what to change


def test_all_mistakes_come_at_once(tiny: Tiny) -> None:
    message = refusal(tiny(title=None, version=1.1, ports=[0]))
    assert [word in message for word in ("title: is missing", "version: 1.1", "ports[0]: 0")] == [True] * 3


def test_the_build_context_holds_exactly_what_the_build_needs(tiny: Tiny) -> None:
    folder = tiny()
    assert [path.name for path in context_files(folder)] == ["requirements.lock", "verify.py"]
    (folder / ".dockerignore").write_text("*.log\n")
    assert "must let in exactly what the build needs" in refusal(folder)


def test_a_file_that_is_copied_in_must_exist(tiny: Tiny) -> None:
    assert '"motd" is not in the image\'s folder' in refusal(tiny(files=[{"source": "motd", "target": "/etc/motd"}]))


def test_the_folder_is_called_like_the_image(tiny: Tiny) -> None:
    folder = tiny()
    other = folder.rename(folder.with_name("other"))
    assert 'name: "tiny" is in the folder other' in refusal(other)


def test_an_unknown_image_is_named_with_the_likely_one() -> None:
    with pytest.raises(SpecError, match="did you mean scipy-ml-notebook"):
        load_family("scipy-ml-notebok")


def test_images_that_stand_on_each_other_are_refused(tiny: Tiny) -> None:
    tiny(name="one", base={"image": "two"})
    folder = tiny(name="two", base={"image": "one"})
    with pytest.raises(SpecError, match="is circular: one → two → one"):
        load_family("one", images=folder.parent)


def test_a_child_that_would_install_over_its_parents_wheels_is_refused(tiny: Tiny) -> None:
    folder = tiny(name="parent")
    (folder / "requirements.lock").write_text("jupyterhub==5.5.4\ntornado==6.4\n")
    child = tiny(name="child", base={"image": "parent"})
    (child / "requirements.lock").write_text("jupyterhub==5.5.4\ntornado==6.6.1\n")
    with pytest.raises(SpecError, match=r'"tornado==6\.6\.1" would be installed over 6\.4 of parent'):
        load_family("child", images=folder.parent)
    (child / "requirements.lock").write_text("jupyterhub==5.5.4\ntornado==6.4\n")
    assert [spec.name for spec in load_family("child", images=folder.parent)] == ["child", "parent"]


@pytest.mark.parametrize("line", ["jupyterhub", "-e .", "jupyterhub @ https://example.org/x.whl"])
def test_a_lock_with_a_line_that_pins_nothing_is_one_message(tiny: Tiny, line: str) -> None:
    folder = tiny()
    (folder / "requirements.lock").write_text(f"{line}\n")
    assert f'images/tiny/requirements.lock: has the line "{line}", which pins nothing' in refusal(folder)


ODD_LINES = {
    "title: !!binary aGk=": "title: has the tag !!binary, which settings do not use",
    "title: !!python/name:os.system": "title: has a tag, which settings do not use",
    "title: !!null x": "title: has the tag !!null, which does not fit its value",
    r'title: "\ud800"': "holds half of a character (U+D800)",
    r'title: "a\0b"': "holds a NUL character (U+0000)",
    r'title: "a\eb"': "has a line break or a control character",
    "title: &a [*a]": "contains itself",
    "env: {<<: x}": "merges what is not a mapping",
    r'env: {A: "a\nb"}': "has a line break or a control character",
    "ports: [" + "9" * 5000 + "]": "is a number of 5000 digits",
    "released: 1790000000": "is not a day of the years 2000 to 2999",
    "released: 2027-02-30": "is not a day of the years 2000 to 2999",
    "released: 9999-12-31": "is not a day of the years 2000 to 2999",
}


@each_row(("line", "reason"), ODD_LINES.items(), ids=range(len(ODD_LINES)))
def test_what_a_spec_cannot_say_is_one_mistake_with_its_line(tiny: Tiny, line: str, reason: str) -> None:
    folder = tiny()
    key = line.partition(":")[0]
    lines = [each for each in (folder / "image.yaml").read_text().splitlines() if not each.startswith(f"{key}:")]
    (folder / "image.yaml").write_text("\n".join([line, *lines]))
    text = refusal(folder)
    assert reason in text
    assert "(line 1)" in text
    assert text.count("images/tiny/image.yaml") == 1


def test_a_spec_is_read_as_the_engine_reads_yaml(tiny: Tiny) -> None:
    folder = tiny(env={"DEBUG": "PLAIN"})
    path = folder / "image.yaml"
    path.write_text(path.read_text().replace("PLAIN", "yes"))
    assert load_spec(folder).env == {"DEBUG": "yes"}


def test_a_page_of_wheels_with_a_password_is_refused_and_never_echoed(tiny: Tiny) -> None:
    for index in ("user:hunter2@a.edu/x", "user:hun/hunter2@a.edu", "hunter2@a.edu", "a.edu/x?token=hunter2"):
        text = refusal(tiny(kernels=[{**TORCH, "index": f"https://{index}"}]))
        assert "holds a user, a password or a token" in text
        assert "hunter2" not in text
    assert load_spec(tiny(kernels=[{**TORCH, "index": "https://wheels.example.edu:8443/@x?page=1"}])).kernels


@each_row("key", ["base", "python", "cuda", "env", "user", "runtime", "kernels"])
def test_one_value_in_the_place_of_a_mapping_is_never_echoed(tiny: Tiny, key: str) -> None:
    text = refusal(tiny(**{key: "hunter2"}))
    assert f"{key}: the value (not shown)" in text
    assert "hunter2" not in text


def test_a_spec_that_is_one_word_is_never_echoed(tiny: Tiny) -> None:
    folder = tiny()
    (folder / "image.yaml").write_text("hunter2")
    assert "hunter2" not in refusal(folder)


@each_row("text", ["", "- a list", "name: [", "just words"])
def test_a_file_that_is_not_a_spec_gets_one_message(tiny: Tiny, text: str) -> None:
    folder = tiny()
    (folder / "image.yaml").write_text(text)
    assert refusal(folder).startswith("images/tiny/image.yaml")


class TestCudaIsThereOnce:
    def test_it_can_come_from_the_base(self, tiny: Tiny) -> None:
        folder = tiny(base=ON_CUDA, cuda={"line": "12.6", "source": "base"})
        (spec,) = load_family("tiny", images=folder.parent)
        assert spec.cuda_lines == ("12.6",)
        assert spec.server_wheels == ("jupyterhub==5.5.4",)

    @pytest.mark.parametrize(
        ("base", "cuda", "words"),
        [
            (ON_CUDA, {"line": "12.4", "source": "base"}, ('cuda.line: "12.4" is not the line', 'write "12.6"')),
            (ON_CUDA, {"line": "12.6", "source": "wheels"}, ("would duplicate the CUDA of", "source: base")),
            (None, {"line": "12.6", "source": "base"}, ("says nothing of CUDA", "source: wheels")),
        ],
    )
    def test_source_and_line_fit_the_base(
        self, tiny: Tiny, base: dict[str, str] | None, cuda: dict[str, str], words: tuple[str, ...]
    ) -> None:
        folder = tiny(**({"base": base} if base else {}), cuda=cuda)
        with pytest.raises(SpecError) as caught:
            load_family("tiny", images=folder.parent)
        for word in words:
            assert word in str(caught.value)

    @pytest.mark.parametrize(("wheel", "is_refused"), [("nvidia-cublas-cu12==12.6.4", True), ("numpy==2.4.6", False)])
    def test_wheels_that_bring_it_a_second_time_are_refused(self, tiny: Tiny, wheel: str, is_refused: bool) -> None:
        folder = tiny(base=ON_CUDA, cuda={"line": "12.6", "source": "base"})
        (folder / "requirements.lock").write_text(f"jupyterhub==5.5.4\n{wheel}\n")
        if not is_refused:
            load_family("tiny", images=folder.parent)
            return
        with pytest.raises(SpecError, match=r'"nvidia-cublas-cu12" duplicates CUDA: .* has 12\.6'):
            load_family("tiny", images=folder.parent)


def test_labels_of_ones_own_are_in_the_image(tiny: Tiny) -> None:
    folder = tiny(
        labels={"org.opencontainers.image.source": "https://git.example.edu/x", "edu.example.course": "COGS 1"}
    )
    found = labels(plan_image(load_family("tiny", images=folder.parent)))
    assert found["org.opencontainers.image.source"] == "https://git.example.edu/x"
    assert found["edu.example.course"] == "COGS 1"
