"""Compares a probed host with its pool in the stack file. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from cli.probe.script import Probed
from cli.words import Paint
from compat.evidence.names.gpu_names import UnknownGpu, find_gpu
from compat.values.versions import DriverVersion, VersionError
from errors.problems import listing
from fleet.pools import NodeGpus
from platforms.docker.facts import HostFacts, refusals
from platforms.docker.probe import Facts, is_unknown
from settings.host_pools import HostPool
from settings.partition_pools import PartitionPool
from settings.pool import Pool

_ROUNDED: Final = 1.1  # firmware, kernel and file system take part of a machine's nominal size


class State(StrEnum):
    """How one key of a pool compares."""

    SAME = "same"
    DIFFERS = "differs"
    UNKNOWN = "unknown"  # the host did not report it
    UNDECLARED = "not declared"  # the pool does not state it
    UNSEEN = "unseen"  # this kind of probe cannot see it
    NOTE = "note"  # not about a key of a pool


@dataclass(frozen=True, slots=True)
class Compared:
    """One key, with a line for people; the line is empty if both sides agree."""

    key: str
    state: State
    pool: Any = None
    host: Any = None
    text: str = ""


def is_fine(rows: Sequence[Compared]) -> bool:
    """Nothing differs, and every value in the pool is proved."""
    return not any(each.state in {State.DIFFERS, State.UNKNOWN} for each in rows)


def compare(probed: Probed, pool: Pool, program_version: str | None = None) -> list[Compared]:
    """Compare the keys that the pool declares and a probe reads, and report what no pool may have.

    `program_version`: the version of what starts images on a Slurm site.
    """
    host = probed.host
    gpus = _gpus_of(pool, probed.name)
    rows = [*_driver_and_gpus(probed, gpus)]
    if isinstance(pool, PartitionPool):
        rows.append(_equal("glibc", pool.glibc, host["glibc"]))
        rows.append(_equal("program_version", program_version, _version(host["apptainer"]), who="site"))
    elif gpus:
        rows.append(_toolkit(gpus.container_toolkit, host))
    if isinstance(pool, HostPool):
        rows += _engine(probed, pool, has_gpus=gpus is not None)
    rows += _enough("cpu", pool.cpu, host["cpu"], 1)
    rows += _enough("memory_gib", pool.memory_gib, host["memory_gib"], _ROUNDED)
    if not isinstance(pool, PartitionPool):  # on such a site, images are in a store that all nodes share
        rows += _enough("root_disk_gib", pool.root_disk_gib, _part(host["data_root"], "total_gib"), _ROUNDED)
    return [*rows, *_of_no_pool(host, pool)]


def _toolkit(declared: str | None, host: Facts) -> Compared:
    version = _version(host["container_toolkit"])
    if host.get("container") == "kubernetes" and is_unknown(version) and declared is not None:
        why = "a pod cannot see it, but gpu-commons probe on the node itself can"
        text = f"container_toolkit: the pool says {declared}; {why}"
        return Compared("container_toolkit", State.UNSEEN, declared, version, text)
    return _equal("container_toolkit", declared, version)


def _gpus_of(pool: Pool, name: str) -> NodeGpus | None:
    """The nodes like this one; if none has its name, those that have what the pool states."""
    variants = pool.variants()
    own = [each for each in variants if name in {node.partition(".")[0] for node in each.node_names}]
    return (own or list(variants))[0].gpus


def _driver_and_gpus(probed: Probed, gpus: NodeGpus | None) -> Iterator[Compared]:
    keys = probed.pool
    if gpus is None:
        count = keys["gpus_per_node"]
        if not is_unknown(count) and count:
            yield _differs("gpus_per_node", 0, count)
        return
    yield _model(gpus.model.name, keys.get("gpu", "none"))
    yield _equal("gpus_per_node", gpus.count, keys["gpus_per_node"])
    driver = keys["driver"]
    if gpus.driver is not None and not is_unknown(driver):
        try:
            is_same = DriverVersion.parse(driver) == gpus.driver
        except VersionError:
            is_same = False
        yield (
            Compared("driver", State.SAME, driver, driver) if is_same else _differs("driver", str(gpus.driver), driver)
        )
    else:
        yield _equal("driver", str(gpus.driver) if gpus.driver else None, driver)


def _model(declared: str, found: Any) -> Compared:
    if is_unknown(found):
        return _equal("gpu", declared, found)
    try:
        model = find_gpu(found).name
    except UnknownGpu:
        return _differs("gpu", declared, found)
    return Compared("gpu", State.SAME, declared, found) if model == declared else _differs("gpu", declared, found)


def _engine(probed: Probed, pool: HostPool, *, has_gpus: bool) -> Iterator[Compared]:
    engine = probed.host["docker"]
    if pool.gpu_uuids:
        uuids = probed.pool.get("gpu_uuids", engine)
        yield _equal("gpu_uuids", list(pool.gpu_uuids), uuids)
    if is_unknown(engine):
        text = f"docker: the host's engine could not be read: {engine['unknown']}"
        yield Compared("docker", State.UNKNOWN, pool.gpu_access, engine, text)
        return
    facts = HostFacts(engine["engine"], engine["api"], "", "", 0, 0, "", "", "", tuple(engine["runtimes"]), ())
    access = pool.gpu_access if has_gpus else None
    # Of a runtime that is missing, the probe knows more than the engine.
    problems = [*refusals(facts, access if access == "cdi" else None, 0, 0)]
    problems += [
        f"{each['lacks']}: run {each['command']}" for each in probed.host["lacking"] if each["gpu_access"] == access
    ]
    for each in problems:
        yield Compared("docker", State.DIFFERS, pool.gpu_access, facts.engine, f"docker: {each}")
    if not problems:
        yield Compared("docker", State.SAME, pool.gpu_access, facts.engine)


def _of_no_pool(host: Facts, pool: Pool) -> Iterator[Compared]:
    second = host["second_driver"]
    if not is_unknown(second) and second != "none":
        fix = "remove the one that nothing updates"
        yield Compared(
            "second_driver", State.DIFFERS, "none", second, f"second_driver: the host has two drivers, {second}; {fix}"
        )
    temporary = host["temporary"]
    if not is_unknown(temporary) and temporary["is_memory"]:
        state = State.DIFFERS if isinstance(pool, HostPool) else State.NOTE
        used = f"what programs write there takes up part of the {pool.memory_gib:g} GiB"
        words = f"temporary: {temporary['path']} is in memory: {used}"
        yield Compared("temporary", state, None, temporary["path"], words)
    if pool.gpu and host["persistence_daemon"] == "not running":
        words = "persistence_daemon: not running: the first program on an idle GPU waits for its driver"
        yield Compared("persistence_daemon", State.NOTE, None, "not running", words)


def _equal(key: str, declared: Any, found: Any, *, who: str = "pool") -> Compared:
    if declared is None:
        text = "" if is_unknown(found) else f"{key}: the {who} does not say; the host has {_shown(found)}"
        return Compared(key, State.UNDECLARED, None, found, text)
    if is_unknown(found):
        text = f"{key}: the {who} says {_shown(declared)}, but the host's value is unknown: {found['unknown']}"
        return Compared(key, State.UNKNOWN, declared, found, text)
    return Compared(key, State.SAME, declared, found) if declared == found else _differs(key, declared, found, who=who)


def _enough(key: str, declared: float, found: Any, rounded: float) -> Iterator[Compared]:
    """A host may have more than its pool states."""
    if is_unknown(found) or declared > found * rounded:
        yield _equal(key, declared, found)
    else:
        yield Compared(key, State.SAME, declared, found)


def _differs(key: str, declared: Any, found: Any, *, who: str = "pool") -> Compared:
    text = f"{key}: the {who} says {_shown(declared)}, the host has {_shown(found)}"
    return Compared(key, State.DIFFERS, declared, found, text)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return listing([str(each) for each in value], most=16) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _version(found: Any) -> Any:
    return _part(found, "version")


def _part(found: Any, key: str) -> Any:
    return found if is_unknown(found) else found[key]


def compared_text(pool: str, probed: Probed, found: Sequence[Compared], paint: Paint) -> str:
    """A headline, then a line for each key that differs."""
    same = listing([each.key for each in found if each.state is State.SAME], most=16) or "nothing"
    where = f"{probed.name} (probed {probed.day})"
    head = f"{where} matches pool {pool}" if is_fine(found) else f"{where} could not be proved to match pool {pool}"
    if any(each.state is State.DIFFERS for each in found):
        head = f"{where} does not match pool {pool}"
    tones = {
        State.DIFFERS: "bad",
        State.UNKNOWN: "open",
        State.UNDECLARED: "quiet",
        State.UNSEEN: "quiet",
        State.NOTE: "warn",
    }
    lines = [paint(f"  {each.text}", tones[each.state]) for each in found if each.text]
    return "\n".join([f"{head}; the same: {same}", *lines, ""])


def compared_data(stack: str, pool: str, probed: Probed, found: Sequence[Compared]) -> dict[str, Any]:
    """For programs."""
    rows = [
        {"key": each.key, "state": each.state.value, "pool": each.pool, "host": each.host, "text": each.text}
        for each in found
    ]
    return {
        "stack": stack,
        "compared_with": pool,
        "is_fine": is_fine(found),
        "compared": rows,
        "pool": probed.pool,
        "host": probed.host,
    }
