"""The choices of the spawn page, as the form that JupyterHub puts into it. Pure, standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

Profile = Mapping[str, Any]  # as hub.json has it


def default_of(profiles: Sequence[Profile]) -> Profile:
    """The profile of somebody who chose none."""
    return next((each for each in profiles if each.get("is_default")), profiles[0])


def render_form(profiles: Sequence[Profile], chosen: str | None = None) -> str:
    """HTML of the choices, one of them checked; the field is `profile`."""
    names = [each["name"] for each in profiles]
    picked = chosen if chosen in names else default_of(profiles)["name"]
    return "\n".join(_choice(each, is_chosen=each["name"] == picked) for each in profiles)


def _choice(profile: Profile, *, is_chosen: bool) -> str:
    identity = f"profile-{escape(profile['name'])}"
    about = " ".join(part for part in (profile.get("description"), f"{profile['size']}.") if part)
    return (
        f'<div class="form-check mb-3"><input class="form-check-input" type="radio" name="profile" id="{identity}" '
        f'value="{escape(profile["name"])}" aria-describedby="{identity}-about"{" checked" if is_chosen else ""}>'
        f'<label class="form-check-label" for="{identity}"><strong>{escape(profile["title"])}</strong></label>'
        f'<div class="form-text" id="{identity}-about">{escape(about)}</div></div>'
    )
