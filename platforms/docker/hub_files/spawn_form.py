"""The choices of the spawn page, as the form that JupyterHub puts into it. Pure, standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

Profile = Mapping[str, Any]  # as hub.json has it


def default_of(profiles: Sequence[Profile]) -> Profile:
    """The profile of somebody who chose none."""
    return next((each for each in profiles if each.get("is_default")), profiles[0])


def size(profile: Profile) -> str:
    """What a server of this kind has: cores, memory, GPUs; and where its kernels run, if not in it."""
    words = [_amounts(profile)]
    if kernels := profile.get("kernels"):
        each = "; ".join(f"{kernel['title']}: {_amounts(kernel)}" for kernel in kernels)
        words.append(f"every kernel is a container of its own, and has its GPU as long as it runs ({each})")
    return "; ".join(words)


def render_form(profiles: Sequence[Profile], chosen: str | None = None) -> str:
    """HTML of the choices, one of them checked; the field is `profile`."""
    names = [each["name"] for each in profiles]
    picked = chosen if chosen in names else default_of(profiles)["name"]
    return "\n".join(_choice(each, is_chosen=each["name"] == picked) for each in profiles)


def _choice(profile: Profile, *, is_chosen: bool) -> str:
    identity = f"profile-{escape(profile['name'])}"
    about = " ".join(part for part in (profile.get("description"), f"{size(profile)}.") if part)
    return (
        f'<div class="form-check mb-3"><input class="form-check-input" type="radio" name="profile" id="{identity}" '
        f'value="{escape(profile["name"])}" aria-describedby="{identity}-about"{" checked" if is_chosen else ""}>'
        f'<label class="form-check-label" for="{identity}"><strong>{escape(profile["title"])}</strong></label>'
        f'<div class="form-text" id="{identity}-about">{escape(about)}</div></div>'
    )


def _amounts(one: Profile) -> str:
    host = one["body"].get("HostConfig") or {}
    cpu, memory = host.get("NanoCpus", 0) / 1e9, host.get("Memory", 0) / 2**30
    gpus = one.get("gpus", 0)
    parts = [
        f"{cpu:g} {'core' if cpu == 1 else 'cores'}" if cpu else "",
        f"{memory:g} GiB of memory" if memory else "",
        f"{gpus} {'GPU' if gpus == 1 else 'GPUs'}" if gpus else "no GPU",
    ]
    return ", ".join(part for part in parts if part)
