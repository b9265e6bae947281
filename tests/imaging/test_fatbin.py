"""Reading device code out of fatbins: synthetic ones, and headers that NVIDIA's own tool wrote."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from imaging.inspection.fatbin import EXECUTABLE, RELOCATABLE, Scanner, Target

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


def entry(kind: int, architecture: int, *, flags: int = 0x11, size: int = 24) -> bytes:
    """An entry with a payload that holds no magic."""
    header = 80 if kind == PTX else 64
    fields = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, header, size, 0, 64, 7, 8, architecture, 0, 0, flags, 0, 0)
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


def loaded(chunks: Iterable[bytes]) -> dict[str, int]:
    scanner = Scanner()
    for chunk in chunks:
        scanner.feed(chunk)
    return {str(target): count for target, count in scanner.loaded().items()}


# Entries that `fatbinary --compress-all --compress-mode=…` 13.0 wrote for sm_75: the flags of machine code and of PTX.
MODES = {"none": (0x11, 0x11), "speed": (0x2011, 0x2011), "balance": (0x8011, 0x8011), "size": (0x8011, 0x8011)}


@each_row("mode", MODES)
def test_code_that_zstd_compresses_is_distinguished_from_that_of_older_ways(mode: str) -> None:
    cubin, ptx = MODES[mode]
    scanner = Scanner()
    scanner.feed(container(entry(CUBIN, 75, flags=cubin), entry(PTX, 75, flags=ptx), entry(CUBIN, 80)))
    both = frozenset({Target("cubin", 75), Target("ptx", 75)})
    assert scanner.compressed() == (both if mode in {"balance", "size"} else frozenset())


def test_compressed_code_that_no_process_loads_does_not_count() -> None:
    scanner = Scanner()
    relocatable = container(entry(CUBIN, 90, flags=COMPRESSED))
    scanner.feed(elf([(RELOCATABLE, relocatable), (EXECUTABLE, container(entry(CUBIN, 90)))]))
    assert scanner.compressed() == frozenset()
    assert scanner.loaded() == {Target("cubin", 90): 1}


CONCATENATED_PAYLOAD = bytes(int.from_bytes(CONCATENATED[8:16], "little"))
MAGIC = struct.pack("<I", 0xBA55ED50)
NEARLY = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 4096) + b"\xff" * 200
FOR_THE_LINKER = container(entry(CUBIN, 90), entry(PTX, 90)) + container(entry(CUBIN, 90), entry(PTX, 90))


@each_row(
    ("data", "found"),
    [
        pytest.param(
            container(entry(CUBIN, 75), entry(CUBIN, 120), entry(PTX, 120), entry(NVVM, 90)),
            {"sm_75": 1, "sm_120": 1, "compute_120": 1},
            id="cubins are told from PTX, and both from what no process loads",
        ),
        pytest.param(
            container(entry(CUBIN, 100), entry(CUBIN, 100, flags=COMPRESSED | A), entry(CUBIN, 100, flags=1 << 24 | F)),
            {"sm_100": 1, "sm_100a": 1, "sm_100f": 1},
            id="a flag of the header says for which GPUs alone the code is",
        ),
        pytest.param(container(entry(RELOCATABLE_PTX, 90)), {}, id="relocatable PTX is not taken for PTX"),
        pytest.param(
            container(entry(CUBIN, 120), CONCATENATED + CONCATENATED_PAYLOAD, entry(PTX, 120)),
            {"sm_120": 1, "sm_75": 1, "sm_90a": 1, "compute_120": 1},
            id="the list of cubins that are packed together is read",
        ),
        pytest.param(
            b"text" + container(entry(CUBIN, 90), entry(CUBIN, 90, flags=A)) + container(entry(CUBIN, 90)),
            {"sm_90": 2, "sm_90a": 1},
            id="entries of all containers are counted",
        ),
        pytest.param(
            MAGIC * 3 + NEARLY + container(entry(CUBIN, 61)) + MAGIC,
            {"sm_61": 1},
            id="the magic number in code is not taken for a container",
        ),
        pytest.param(
            container(entry(CUBIN, 70), entry(CUBIN, 80, size=1000))[:-900],
            {"sm_70": 1, "sm_80": 1},
            id="what a truncated file has counts",
        ),
        pytest.param(
            elf([(RELOCATABLE, FOR_THE_LINKER), (EXECUTABLE, container(entry(CUBIN, 90)))]),
            {"sm_90": 1},
            id="what only the device linker reads does not count",
        ),
        pytest.param(
            elf([(RELOCATABLE, FOR_THE_LINKER), (EXECUTABLE, container(entry(NVVM, 90), entry(RELOCATABLE_PTX, 90)))]),
            {},
            id="a program with nothing that a process loads has none of the linker's code either",
        ),
        pytest.param(
            elf([(RELOCATABLE, container(entry(PTX, 90)))]),
            {"compute_90": 1},
            id="an object that no linker has seen counts as it is",
        ),
        pytest.param(
            elf([(RELOCATABLE, FOR_THE_LINKER), (EXECUTABLE, container(entry(CUBIN, 90)))], names_first=True),
            {"sm_90": 3, "compute_90": 2},
            id="everything counts where the sections have no names nearby",
        ),
    ],
)
def test_what_a_process_loads_is_counted(data: bytes, found: dict[str, int]) -> None:
    assert loaded([data]) == found


def test_finds_a_container_whose_header_is_split_between_chunks() -> None:
    data = b"...." + container(entry(CUBIN, 86), entry(PTX, 86))
    for cut in range(len(data)):
        assert loaded([data[:cut], data[cut:]]) == {"sm_86": 1, "compute_86": 1}


def test_a_file_made_to_fill_memory_is_left_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imaging.inspection.fatbin._MOST_KEPT", 50)
    scanner = Scanner()
    one = container(entry(CUBIN, 80))
    for _ in range(100):
        scanner.feed(one)
    assert 50 <= scanner.loaded().total() < 60


def test_sorts_targets_as_numbers() -> None:
    targets = [Target("cubin", *each) for each in ((120, ""), (90, "a"), (100, "f"), (90, ""), (86, ""))]
    assert [str(target) for target in sorted(targets)] == ["sm_86", "sm_90", "sm_90a", "sm_100f", "sm_120"]


def test_passes_over_large_payloads_without_keeping_them() -> None:
    scanner = Scanner()
    data = container(entry(CUBIN, 80, size=5_000_000), entry(PTX, 80))
    for start in range(0, len(data), 4096):
        scanner.feed(data[start : start + 4096])
        assert len(scanner._pending) <= 4096  # noqa: SLF001 - the promise of bounded memory
    assert scanner.loaded() == {Target("cubin", 80): 1, Target("ptx", 80): 1}


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
        f"{'sm' if kind == CUBIN else 'compute'}_{architecture}{ {0: '', A: 'a', F: 'f'}[flags] }"
        for parts in containers
        for kind, architecture, flags, _ in parts
    )
    assert loaded(pieces(data, cuts)) == loaded([data]) == wanted
