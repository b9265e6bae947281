"""What the renderer writes has none of the mistakes that the linter knows, in any image of a spec."""

from __future__ import annotations

from rows import each_row

from imaging.build.render import render_dockerfile, stage_of
from imaging.lint.check import lint
from imaging.lint.recipe import LintContext, Role
from imaging.spec.load import load_family
from imaging.spec.parts import TargetKind
from imaging.spec.targets import kind_of, target_specs

NOTEBOOKS = ["hub", "proxy", "datahub-base-notebook", "scipy-ml-notebook", "cupy-notebook"]
DOCKER_HOSTS = ["perceptron", "docker-hub", "kernel-gateway", "engine-filter"]
SLURM = ["cupy-cuda11", "cupy-cuda11-notebook", "slurm-hub"]


@each_row("image", [*NOTEBOOKS, *DOCKER_HOSTS, *SLURM])
def test_nothing_is_found_in_an_image_or_in_one_of_its_targets(image: str) -> None:
    family = load_family(image)
    text = render_dockerfile(family)
    for spec in (family[0], *target_specs(family[0])):
        role = Role.BATCH if kind_of(spec) is TargetKind.BATCH else Role.APPLICATION
        report = lint(f"{text}FROM {stage_of(spec)}\n".encode(), "Dockerfile", LintContext(role, has_ignore_file=True))
        assert not report.findings, spec.full_name


def test_a_mistake_in_an_image_of_the_spec_would_be_found() -> None:
    text = render_dockerfile(load_family("cupy-notebook")).replace("USER 1000:100", "USER 0:0")
    report = lint(f"{text}FROM batch\n".encode(), "Dockerfile", LintContext(Role.BATCH, has_ignore_file=True))
    assert "D-ROOT" in [finding.rule for finding in report.findings]
