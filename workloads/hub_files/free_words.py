"""What is free, and what a start waits for, as sentences for people. Pure, standard library only.

A count has numbers of one profile: `servers` that still fit, else what they `lack` (nodes, gpus, cpu, memory, or room
that no machine has at once); its `gpus`, and of them `busy_gpus` and `free_gpus`; how many `waiting` for the same are
`queued` (jobs, or servers). Where kernels take the GPUs, not servers, it is `for_kernels`. `page` is that of
`workloads.hub_page`. No name of a pool, a node or a person is in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Object = Mapping[str, Any]
Counts = Mapping[str, Object]

MANY = 50  # servers without a GPU, beyond which nobody counts
OFFERED = 3  # other choices that are named to somebody who waits


def choices(page: Object) -> dict[str, Object]:
    """Choices of the spawn page by profile."""
    return {choice["name"]: choice for card in page["cards"] for choice in card["choices"]}


def free_words(choice: Object, count: Object) -> str:
    """How many servers of this kind fit now: 12 free now; or why none does."""
    if count.get("for_kernels"):
        return f"{count['free_gpus']} of {count['gpus']} GPUs free for kernels now"
    if count["servers"]:
        room = _room(choice, count)
        return f"{room[0].upper()}{room[1:]}"
    waiting, thing = count["waiting"], count.get("queued", "server")
    queue = f"; {waiting} {f'{thing} waits' if waiting == 1 else f'{thing}s wait'}" if waiting else ""
    return f"None free now: {_why(choice, count)}{queue}"


def is_free(count: Object) -> bool:
    """Is there room for one more?"""
    return bool(count["free_gpus"] if count.get("for_kernels") else count["servers"])


def waiting_words(page: Object, counts: Counts, profile: str) -> Iterator[str]:
    """What somebody whose server of this profile finds no node should know."""
    known = choices(page)
    choice, count = known.get(profile), counts.get(profile)
    # With room for it, something else is in the way, and that we cannot count.
    if choice is None or count is None or count["servers"]:
        return
    why = _why(choice, count)
    yield f"{why[0].upper()}{why[1:]}."
    others = max(0, count["waiting"] - 1)  # it waits itself
    if others:
        yield f"{others} other{'s' if others > 1 else ''} {'wait' if others > 1 else 'waits'} for the same."
    free = [known[name] for name in known if name != profile and counts.get(name, {}).get("servers")]
    # First those with as many GPUs, then those with GPUs.
    free.sort(key=lambda other: (abs(other["gpus"] - choice["gpus"]), -other["gpus"]))
    if free:
        named = [f"“{other['title']}” ({_room(other, counts[other['name']])})" for other in free[:OFFERED]]
        yield f"You can cancel and choose {_either(named)}."
    else:
        yield "Nothing else is free either."


def _why(choice: Object, count: Object) -> str:
    lack, gpus, busy = count["lack"], count["gpus"], count["busy_gpus"]
    kind = f"{choice['gpu']} GPUs" if choice["gpu"] else "GPUs"
    if lack == "nodes":
        return "no machine for it is ready"
    if lack == "gpus":
        if busy >= gpus or not count["free_gpus"]:
            return f"all {gpus} {kind} are in use" if busy >= gpus else f"all {kind} that work are in use"
        return f"{busy} of {gpus} {kind} are in use, and no machine has {choice['gpus']} free"
    words = {"cpu": "its machines have no CPU cores left", "memory": "its machines have no memory left"}
    return words.get(lack, "its machines have no room left")


def _room(choice: Object, count: Object) -> str:
    servers = count["servers"]
    return f"{servers if servers <= MANY or choice['gpus'] else f'more than {MANY}'} free now"


def _either(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
