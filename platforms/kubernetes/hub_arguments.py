"""Parses the arguments of NotebookHub: keys shared with stack files, and its own. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from errors.problems import Fault, Loc
from workloads.agreements import of_hub, of_login
from workloads.arguments import plain, read
from workloads.hub import Hub
from workloads.raw import Raw, items


def parse_hub(name: str, args: Mapping[str, Any]) -> Hub:
    """Arguments of NotebookHub as a Hub.

    Raises SettingsError with every problem of the plain arguments. Images may be outputs and are passed through.
    """
    raw = {"namespace": name, **plain(args)}
    if isinstance(given := raw.get("authenticator"), Mapping) and given.get("allowed_users"):
        # A user list names everyone who may log in.
        raw["authenticator"] = {"allow_all": False, **given}
    return read(Hub, f"NotebookHub {name}", name, raw, (*of_hub((), raw), *of_login((), raw), *_disagreements(raw)))


def _disagreements(hub: Raw) -> Iterator[Fault]:
    yield from _one_image_for_each_name(hub)
    profiles = [profile.get("name") for _, profile in items(hub, "profiles")]
    for loc, course in items(hub, "courses"):
        yield from _course(loc, course, profiles)
    yield from _tolerations(hub, "core_tolerations", ())
    for loc, profile in items(hub, "profiles"):
        yield from _tolerations(profile, "tolerations", loc)


def _one_image_for_each_name(hub: Raw) -> Iterator[Fault]:
    images: dict[object, object] = {}
    for loc, profile in items(hub, "profiles"):
        name, found = profile.get("image_name"), profile.get("image")
        # Outputs cannot be compared until known; two outputs of one name count as the same image.
        if isinstance(name, str) and isinstance(found, str) and images.setdefault(name, found) != found:
            yield Fault((*loc, "image_name"), "names two different images", "give each image its own name", name)


def _course(loc: Loc, course: Raw, profiles: list[object]) -> Iterator[Fault]:
    chosen, first, last = course.get("profiles"), course.get("first_day"), course.get("last_day")
    for index, name in enumerate(chosen if isinstance(chosen, tuple) else ()):
        if name not in profiles:
            fix = f"choose from {', '.join(map(str, profiles))}"
            yield Fault((*loc, "profiles", index), "is not a profile of this hub", fix, name)
    if isinstance(first, str) and isinstance(last, str) and last < first:
        yield Fault((*loc, "last_day"), "is before first_day", "write a day that is not before it", last)


def _tolerations(raw: Raw, key: str, at: Loc) -> Iterator[Fault]:
    for loc, toleration in items(raw, key, at=at):
        is_equal = toleration.get("operator", "Equal") == "Equal"
        for needed in ("key", "value") if is_equal else ():
            if needed not in toleration:
                yield Fault((*loc, needed), "is missing", f"add {needed}, or write operator: Exists")
        if not is_equal and "value" in toleration:
            yield Fault((*loc, "value"), "is given beside operator Exists", "leave one of the two out")
