"""Reads a stack's settings. The only reader of Pulumi's configuration.

`load_stack` reads a stack file without Pulumi (CLI, lab, tests), `from_pulumi` reads the engine's configuration in a
program or a policy pack. Both return the same `Stack` or raise one `SettingsError` with every mistake.
`python -m settings.reading` prints the JSON Schema for editors.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from errors.agreements import disagreements, readable, validated
from errors.document import Document, odd_texts, read_yaml
from errors.problems import (
    Fault,
    Loc,
    Problem,
    SettingsError,
    nearest,
    path_text,
    show,
    unshown,
    visible,
    without_passwords,
)
from settings import checks
from settings.fleet_checks import check_fleet, left_nodes
from settings.models import Stack
from settings.pools import Fleet

__all__ = ["Problem", "SettingsError", "Stack", "from_pulumi", "json_schema", "load_stack", "read_sections"]

Model = TypeVar("Model", bound=BaseModel)
NAMESPACE: Final = "gpu-commons"
OVERLAY: Final = "GPU_COMMONS_SITE"


def load_stack(path: Path, *, site: Path | None = None) -> Stack:
    """Read a stack file (`stacks/Pulumi.<stack>.yaml`) without Pulumi; `site` is an overlay, see `Site`.

    Raises SettingsError with every mistake of the two files.
    """
    file = read_yaml(path, called="stack file")
    raw, faults = _sections(file)
    lines = dict(file.lines)
    for where, line in file.lines.items():
        if where[:1] == ("config",) and len(where) > 1:  # also by the path in messages: fleet.pools
            key = str(where[1])
            lines.setdefault((key,), line)
            lines[key.removeprefix(f"{NAMESPACE}:"), *where[2:]] = line
    return _stack(Document(file.file, raw, lines), _overlay(site), faults)


def from_pulumi(deployed_nodes: Callable[[], Mapping[str, Any]] = dict) -> Stack:
    """The settings from the engine, in a program or policy pack, with the overlay in GPU_COMMONS_SITE.

    `deployed_nodes`: last deployed nodes by pool; called only if the GPU sum is wrong, to name nodes
    that left. Raises SettingsError with every mistake.
    """
    # Imported only here, so that the CLI, the lab and the tests read stack files without Pulumi.
    from pulumi.runtime.config import get_config_env, get_config_secret_keys_env  # noqa: PLC0415

    secret = set(get_config_secret_keys_env())
    raw: dict[str, Any] = {}
    faults: list[Fault] = list(_passphrase(secret))
    for key, text in get_config_env().items():
        namespace, _, section = key.partition(":")
        if meant := _meant(key, get_config_env()):
            faults.append(_misspelt(key, meant))
            namespace, section = NAMESPACE, meant
        if namespace != NAMESPACE:
            continue
        if key in secret:
            faults.append(_encrypted((section,)))
        if section not in Stack.model_fields:
            faults.append(_unknown_section(section))
            continue
        try:
            raw[section] = json.loads(text)
        except (ValueError, RecursionError):  # a bare word: Pulumi passes it unchanged
            raw[section] = text
    overlay = os.environ.get(OVERLAY)
    try:
        return _stack(Document("stack configuration", raw), _overlay(Path(overlay) if overlay else None), faults)
    except SettingsError as error:
        raise SettingsError(_with_what_left(error.problems, raw, deployed_nodes)) from None


def _with_what_left(
    problems: Iterable[Problem], raw: Mapping[str, Any], deployed_nodes: Callable[[], Mapping[str, Any]]
) -> Iterator[Problem]:
    """An outdated sum names the nodes removed from their pools since the last update."""
    for problem in problems:
        is_sum = problem.path == "fleet.total_gpus"
        fleet = validated(Fleet, raw.get("fleet") or {}, [], is_json=True) if is_sum else None
        if is_sum and (left := left_nodes(fleet, deployed_nodes())):
            yield replace(problem, reason=f"{problem.reason}; since the last update {left}")
        else:
            yield problem


@cache
def json_schema() -> dict[str, Any]:
    """JSON Schema of a stack file, for editors and the reference page."""
    schema = Stack.model_json_schema()
    sections: dict[str, Any] = schema["properties"]
    ours = "|".join(f"{name}$" for name in sections)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpu-commons stack file",
        "type": "object",
        "required": ["config"],
        "properties": {
            **{key: {"description": text} for key, text in _TOP.items() if key != "config"},
            "config": {
                "description": _TOP["config"],
                "type": "object",
                "required": [f"{NAMESPACE}:{name}" for name in schema["required"]],
                "properties": {f"{NAMESPACE}:{name}": section for name, section in sections.items()},
                "patternProperties": {f"^{NAMESPACE}:(?!{ours})": False},
            },
        },
        "additionalProperties": False,
        "$defs": schema["$defs"],
    }


_TOP: Final = {
    "config": "Settings of the stack, in namespaces; ours is gpu-commons.",
    "encryptionsalt": "Salt of the passphrase, written by Pulumi.",
    "encryptedkey": "Encrypted data key, written by Pulumi.",
    "secretsprovider": "Who encrypts secrets, written by Pulumi.",
    "environment": "Pulumi environments that this stack imports.",
}


def _sections(file: Document) -> tuple[dict[str, Any], list[Fault]]:
    top = file.data
    if not isinstance(top, Mapping) or not isinstance(top.get("config"), Mapping):
        fix = "a stack file has config: with keys such as gpu-commons:site below it"
        path = "config" if isinstance(top, Mapping) else "(top)"
        raise SettingsError([Problem(path, "", "is not a mapping", fix, file.file, file.line((path,)))])
    raw: dict[str, Any] = {}
    unknown = [str(key) for key in top if key not in _TOP]
    faults = [Fault((key,), "is not a known key", nearest(key, _TOP, what="key")) for key in unknown]
    for key, value in top["config"].items():
        namespace, colon, section = str(key).partition(":")
        if not colon:
            fix = f"keys have a namespace: {NAMESPACE}:{key}" if key in Stack.model_fields else "write namespace:key"
            faults.append(Fault(("config", str(key)), "has no namespace", fix))
        elif meant := _meant(str(key), top["config"]):
            faults.append(_misspelt(str(key), meant))
            raw[meant] = value  # its content is still read, and not reported missing
        elif namespace == NAMESPACE and section not in Stack.model_fields:
            faults.append(_unknown_section(section))
        elif namespace == NAMESPACE:
            raw[section] = value
            faults += [_encrypted(loc) for loc in _secure(value, (section,))]
    return raw, faults


def _meant(key: str, config: Mapping[str, Any]) -> str | None:
    """The section meant by a key with nearly our namespace; None for correct or foreign keys."""
    namespace, _, section = key.partition(":")
    near = get_close_matches(namespace.lower().replace("_", "-"), [NAMESPACE], cutoff=0.8)
    if namespace == NAMESPACE or not near:
        return None
    found = get_close_matches(section.lower(), Stack.model_fields, n=1, cutoff=0.6)
    return found[0] if found and f"{NAMESPACE}:{found[0]}" not in config else None


def _misspelt(key: str, meant: str) -> Fault:
    return Fault((key,), "is in a namespace that nothing reads", f"did you mean {NAMESPACE}:{meant}?")


def _unknown_section(section: str) -> Fault:
    return Fault((f"{NAMESPACE}:{section}",), "is not a known key", nearest(section, Stack.model_fields, what="key"))


def _secure(value: object, loc: Loc) -> Iterator[Loc]:
    if isinstance(value, Mapping):
        if set(value) == {"secure"}:
            yield loc
        for key, item in value.items():
            yield from _secure(item, (*loc, str(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _secure(item, (*loc, index))


def _encrypted(loc: Loc) -> Fault:
    fix = "settings hold no secrets: put it into a Kubernetes Secret and refer to that, as client_secret does"
    return Fault(loc, "is an encrypted value", fix)


def _passphrase(secret: set[str]) -> Iterator[Fault]:
    # The committed salts have an empty passphrase, so that anybody can preview; so nothing may be secret.
    if secret and os.environ.get("PULUMI_CONFIG_PASSPHRASE") == "":
        fix = "set PULUMI_CONFIG_PASSPHRASE to one of your own and run pulumi stack change-secrets-provider passphrase"
        yield Fault(tuple(sorted(secret)[:1]), "is a secret that the empty passphrase decrypts", fix)


def _overlay(path: Path | None) -> Document | None:
    if path is None:
        return None
    overlay = read_yaml(path, called=OVERLAY)
    if overlay.data is not None and not isinstance(overlay.data, Mapping):
        fix = "an overlay has the keys of site: registry: …"
        raise SettingsError([Problem("(top)", show(unshown(overlay.data)), "is not a mapping", fix, overlay.file, 1)])
    return overlay


def _stack(main: Document, overlay: Document | None, faults: list[Fault]) -> Stack:
    raw = dict(main.data)
    if overlay is not None and overlay.data and isinstance(raw.get("site", {}), Mapping):
        raw["site"] = {**raw.get("site", {}), **_of_this_stack(overlay.data, raw)}
    stack = _read(Stack, _with_hosts_of_hubs(_with_cluster_version(raw)), faults, checks.check)
    if not faults and stack.cluster:
        # It reads image specs, which other stacks do not need: a third of a second.
        from settings import instance_images  # noqa: PLC0415

        stack = instance_images.with_root_disks(stack)
        faults += instance_images.check(stack)
    if faults:
        raise SettingsError(_problems(faults, main, overlay))
    return stack


def _of_this_stack(overlay: Mapping[str, Any], raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A lab's overlay without data of the last stack deployed there: its hub's pool, its Slurm."""
    pools = {each.get("name") for each in _at(raw, "fleet", "pools") or () if isinstance(each, Mapping)}
    is_anothers = overlay.get("lab") is True and overlay.get("core_pool") not in pools
    not_here = {"core_pool"} if is_anothers else set()
    if _at(raw, "site", "kind") != "slurm" and overlay.get("lab") is True:
        not_here.add("slurm")
    return {key: value for key, value in overlay.items() if key not in not_here}


def read_sections(model: type[Model], raw: Mapping[str, Any], *, called: str) -> Model:
    """Sections of a stack file from another source, such as `fleet`, as a model with some of them.

    `called` names that source for the user. Raises SettingsError with every mistake.
    """
    faults: list[Fault] = []
    found = _read(model, raw, faults, _fleet_of)
    if faults:
        raise SettingsError(_problems(faults, Document(called, raw), None))
    return found


def _fleet_of(sections: BaseModel) -> Iterator[Fault]:
    fleet = getattr(sections, "fleet", None)
    return check_fleet(fleet) if isinstance(fleet, Fleet) else iter(())


def _read(
    model: type[Model], raw: Mapping[str, Any], faults: list[Fault], check: Callable[[Model], Iterator[Fault]]
) -> Model:
    """The model of what can be read; every mistake is added to `faults`."""
    faults += odd_texts(raw)
    reported = {fault.loc for fault in faults}  # half a character, for example
    wrong: list[Fault] = []
    found = validated(model, raw, wrong, is_json=True)
    faults += [fault for fault in wrong if not _is_inside(fault.loc, reported)]
    known = {fault.loc for fault in faults}
    also = (*disagreements(found), *readable(check(found)))
    faults += [fault for fault in also if fault.loc not in known and not _is_inside(fault.loc, reported)]
    return found


def _with_cluster_version(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The sections with the cluster's Kubernetes version in each instance pool without one."""
    version, fleet = _at(raw, "cluster", "kubernetes"), raw.get("fleet")
    pools = _at(raw, "fleet", "pools")
    if not isinstance(version, str) or not isinstance(pools, list) or not isinstance(fleet, Mapping):
        return dict(raw)
    filled = [
        {"kubernetes": version, **pool} if isinstance(pool, Mapping) and "instance_types" in pool else pool
        for pool in pools
    ]
    return {**raw, "fleet": {**fleet, "pools": filled}}


def _with_hosts_of_hubs(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Adds the host to profiles and kernels of a hub on a host: it is their only choice."""
    hubs = raw.get("hubs")
    if _at(raw, "site", "kind") != "docker" or not isinstance(hubs, list):
        return dict(raw)
    return {**raw, "hubs": [_placed(hub, hub.get("pool")) if isinstance(hub, Mapping) else hub for hub in hubs]}


def _placed(holder: Mapping[str, Any], pool: object) -> Mapping[str, Any]:
    """Each profile or kernel of a hub or a profile on this pool, unless it names one."""
    placed = {**holder}
    for part in ("profiles", "kernels"):
        if isinstance(pool, str) and isinstance(listed := holder.get(part), list):
            placed[part] = [
                _placed(each if {"pool", "pools"} & each.keys() else {**each, "pool": pool}, pool)
                if isinstance(each, Mapping)
                else each
                for each in listed
            ]
    return placed


def _at(raw: Mapping[str, Any], *path: str) -> Any:
    for step in path:
        found = raw.get(step)
        raw = found if isinstance(found, Mapping) else {}
    return found


def _is_inside(loc: Loc, places: set[Loc]) -> bool:
    return any(loc[: len(place)] == place for place in places)


def _problems(faults: list[Fault], main: Document, overlay: Document | None) -> list[Problem]:
    problems = [_problem(fault, main, overlay) for fault in faults]
    return sorted(problems, key=lambda problem: (problem.file != main.file, problem.line or 0))


def _problem(fault: Fault, main: Document, overlay: Document | None) -> Problem:
    file, loc = main, fault.loc
    if overlay is not None and overlay.data and loc[:1] == ("site",) and len(loc) > 1 and loc[1] in overlay.data:
        file, loc = overlay, loc[1:]
    path = str(loc[0]) if ":" in str(loc[0]) else path_text(loc)  # gpu-commons:jobs, as in the file
    # Our messages may repeat user input: a key, or a name that contains an address.
    path, reason, fix = (visible(without_passwords(text)) for text in (path, fault.reason, fault.fix))
    return Problem(path, show(fault.value, loc), reason, fix, file.file, file.line(loc))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
