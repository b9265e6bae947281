"""Reading device code out of fatbins: synthetic ones, and headers that NVIDIA's own tool wrote."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from images.inspection.fatbin import (
    EXECUTABLE,
    RELOCATABLE,
    DeviceCode,
    Scanner,
    Target,
    capability,
    device_code,
    order,
)

CUBIN, PTX, NVVM, RELOCATABLE_PTX = 2, 1, 8, 0x40
A, F = 1 << 20, 1 << 21
COMPRESSED = 0x8011

# `fatbinary --compress-all --concat` 13.4 for sm_75 and sm_90a beside sm_120: the header of the entry that packs both.
CONCATENATED = bytes.fromhex(
    "0001010 1c8000000a0040000000000009b040000400000000100000000000000000000000000000011800000000000000000000000000000"
    "9818000000000000"
    "0200000088000000"
    "0200010100000000280b0000000000000000000000000000080001004b000000000000000000000011000000000000000000000000000000"
    "0000000000000000"
    "02000101280b0000700d0000000000000000000000000000080001005a000000000000000000000011001000000000000000000000000000"
    "0000000000000000".replace(" ", "")
)


def entry(
    kind: int, architecture: int, *, flags: int = 0x11, version: tuple[int, int] = (8, 7), size: int = 24
) -> bytes:
    """An entry with a payload that holds no magic."""
    header = 80 if kind == PTX else 64
    major, minor = version
    fields = struct.pack(
        "<HHIQIIHHIIIQQQ", kind, 0x101, header, size, 0, 64, minor, major, architecture, 0, 0, flags, 0, 0
    )
    return fields.ljust(header, b"\0") + b"\xcc" * size


def container(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def elf(sections: Sequence[tuple[str, bytes]], *, names_first: bool = False) -> bytes:
    """A 64-bit ELF with these sections, its names last as linkers write them or in front of everything."""
    names, offsets, body = b"\0", [], b""
    table = [*sections, (".shstrtab", b"")]
    places = []
    for name, _ in table:
        places.append(len(names))
        names += name.encode() + b"\0"
    table[-1] = (".shstrtab", names)
    for _, content in [table[-1], *table[:-1]] if names_first else table:
        offsets.append(64 + len(body))
        body += content
    if names_first:
        offsets = [*offsets[1:], offsets[0]]
        body += bytes(3 << 20)
    rows = [struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)]
    rows += [
        struct.pack("<IIQQQQIIQQ", place, 1, 0, 0, offset, len(content), 0, 0, 8, 0)
        for place, offset, (_, content) in zip(places, offsets, table, strict=True)
    ]
    head = b"\x7fELF\x02\x01\x01".ljust(40, b"\0") + struct.pack("<Q", 64 + len(body))
    head = head.ljust(60, b"\0") + struct.pack("<HH", len(rows), len(rows) - 1)
    return head + body + b"".join(rows)


def pieces(data: bytes, cuts: Sequence[int]) -> Iterator[bytes]:
    for start, stop in pairwise([0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]):
        yield data[start:stop]


def found(code: DeviceCode) -> dict[str, int]:
    return {f"{target.kind} {target.capability} {target.isa}".strip(): n for target, n in code.entries.items()}


def test_tells_cubins_from_ptx_and_what_each_is_for() -> None:
    data = container(entry(CUBIN, 75), entry(CUBIN, 120), entry(PTX, 120, version=(9, 0)), entry(NVVM, 90))
    assert found(device_code([data])) == {"cubin 7.5": 1, "cubin 12.0": 1, "ptx 12.0 9.0": 1, "nvvm 9.0": 1}


@pytest.mark.parametrize(("flags", "suffix"), [(0x11, ""), (COMPRESSED | A, "a"), (0x1000011 | F, "f")])
def test_a_flag_of_the_header_says_for_which_gpus_alone_the_code_is(flags: int, suffix: str) -> None:
    assert found(device_code([container(entry(CUBIN, 100, flags=flags))])) == {f"cubin 10.0{suffix}": 1}


def test_relocatable_ptx_is_not_taken_for_ptx() -> None:
    assert found(device_code([container(entry(RELOCATABLE_PTX, 90))])) == {"relocatable ptx 9.0 8.7": 1}


def test_opens_the_list_of_cubins_that_are_packed_together() -> None:
    payload = bytes(int.from_bytes(CONCATENATED[8:16], "little"))
    data = container(entry(CUBIN, 120), CONCATENATED + payload, entry(PTX, 120))
    assert found(device_code([data])) == {"cubin 12.0": 1, "cubin 7.5": 1, "cubin 9.0a": 1, "ptx 12.0 8.7": 1}


def test_counts_in_how_many_containers_a_target_is() -> None:
    code = device_code([b"text", container(entry(CUBIN, 90), entry(CUBIN, 90, flags=A)), container(entry(CUBIN, 90))])
    assert code.containers == 2
    assert found(code) == {"cubin 9.0": 2, "cubin 9.0a": 1}


def test_finds_a_container_whose_header_is_split_between_chunks() -> None:
    data = b"...." + container(entry(CUBIN, 86), entry(PTX, 86))
    for cut in range(len(data)):
        assert found(device_code([data[:cut], data[cut:]])) == {"cubin 8.6": 1, "ptx 8.6 8.7": 1}


def test_does_not_take_the_magic_number_in_code_for_a_container() -> None:
    magic = struct.pack("<I", 0xBA55ED50)
    nearly = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 4096) + b"\xff" * 200
    assert found(device_code([magic * 3 + nearly + container(entry(CUBIN, 61)) + magic])) == {"cubin 6.1": 1}


def test_keeps_what_a_truncated_file_has() -> None:
    data = container(entry(CUBIN, 70), entry(CUBIN, 80, size=1000))
    assert found(device_code([data[:-900]])) == {"cubin 7.0": 1, "cubin 8.0": 1}


def test_ptx_that_only_the_device_linker_reads_is_kept_apart() -> None:
    data = elf(
        [
            (RELOCATABLE, container(entry(CUBIN, 90), entry(PTX, 90)) + container(entry(CUBIN, 90), entry(PTX, 90))),
            (EXECUTABLE, container(entry(CUBIN, 90))),
        ]
    )
    code = device_code([data])
    assert code.section_containers == {RELOCATABLE: 2, EXECUTABLE: 1}
    assert code.executable == {Target("cubin", "9.0"): 1}
    assert code.executable_containers == 1
    assert found(code) == {"cubin 9.0": 3, "ptx 9.0 8.7": 2}


def test_objects_that_no_linker_has_seen_count_as_they_are() -> None:
    code = device_code([elf([(RELOCATABLE, container(entry(PTX, 90)))])])
    assert code.executable == {Target("ptx", "9.0", "8.7"): 1}
    assert code.executable_containers == 1


@pytest.mark.parametrize("ended", [True, False])
def test_sections_are_unknown_where_the_end_was_not_read_or_the_names_are_far_away(*, ended: bool) -> None:
    data = elf([(EXECUTABLE, container(entry(CUBIN, 90)))], names_first=ended)
    scanner = Scanner()
    scanner.feed(data)
    code = scanner.result(ended=ended)
    assert code.sections == {}
    assert code.executable == {Target("cubin", "9.0"): 1}


def test_a_file_made_to_fill_memory_is_left_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("images.inspection.fatbin._MOST_KEPT", 50)
    scanner = Scanner()
    one = container(entry(CUBIN, 80))
    for _ in range(100):
        scanner.feed(one)
    assert scanner.is_full
    assert scanner.position == 100 * len(one)
    assert 50 <= scanner.result(ended=True).containers < 60


def test_sorts_targets_as_numbers() -> None:
    targets = [Target("cubin", text) for text in ("12.0", "9.0a", "10.0f", "9.0", "8.6")]
    assert [target.capability for target in sorted(targets, key=order)] == ["8.6", "9.0", "9.0a", "10.0f", "12.0"]


def test_passes_over_large_payloads_without_keeping_them() -> None:
    scanner = Scanner()
    data = container(entry(CUBIN, 80, size=5_000_000), entry(PTX, 80))
    for start in range(0, len(data), 4096):
        scanner.feed(data[start : start + 4096])
        assert len(scanner._pending) <= 4096  # noqa: SLF001 - the promise of bounded memory
    assert scanner.position == len(data)
    assert scanner.targets == {Target("cubin", "8.0"), Target("ptx", "8.0", "8.7")}


architectures = st.sampled_from([35, 50, 61, 75, 86, 90, 100, 103, 120])
entries = st.tuples(st.sampled_from([CUBIN, PTX]), architectures, st.sampled_from([0, A, F]), st.integers(0, 90))


@given(
    st.lists(st.lists(entries, min_size=1, max_size=5), max_size=5),
    st.binary(max_size=40).filter(lambda noise: b"P" not in noise),
    st.lists(st.integers(0, 10_000), max_size=40),
)
def test_nothing_depends_on_where_the_chunks_end(
    containers: list[list[tuple[int, int, int, int]]], noise: bytes, cuts: list[int]
) -> None:
    section = noise.join(
        container(*(entry(kind, architecture, flags=flags, size=size) for kind, architecture, flags, size in parts))
        for parts in containers
    )
    data = elf([(".text", noise), (EXECUTABLE, section)])
    wanted = Counter(
        f"{'cubin' if kind == CUBIN else 'ptx'} {capability(architecture)}{ {0: '', A: 'a', F: 'f'}[flags] }"
        for parts in containers
        for kind, architecture, flags, _ in parts
    )
    code = device_code(pieces(data, cuts))
    assert code == device_code([data])
    assert Counter({name.removesuffix(" 8.7"): n for name, n in found(code).items()}) == wanted
    assert code.containers == len(containers)
    assert set(code.sections) <= {EXECUTABLE}
