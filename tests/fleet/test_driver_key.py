"""The key of a driver container: what its modules were built for, and which nodes that are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from fleet.driver_key import DriverKey


def test_the_reference_systems_modules_would_have_been_refused() -> None:
    # Kernel source of 4.4.8 was cloned, and the nodes ran 4.3.6.
    key = DriverKey.parse("352-4.4.8-coreos899.15.0")
    assert key.misfit("4.3.6", "coreos899.15.0") == (
        "352-4.4.8-coreos899.15.0 holds modules for kernel 4.4.8; the nodes run kernel 4.3.6"
    )
    assert key.misfit("4.4.8", "coreos1010.5.0") == (
        "352-4.4.8-coreos899.15.0 is built for coreos899.15.0; the nodes run coreos1010.5.0"
    )


@each_row("text", ["", "580", "580-flatcar4593.2.5", "R580-6.12.1-flatcar-flatcar4593.2.5", "latest"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not the key of a driver container"):
        DriverKey.parse(text)


@pytest.mark.slow
@given(
    st.integers(340, 620),
    st.from_regex(r"[1-9]\.[0-9]{1,2}\.[0-9]{1,3}(-[0-9]{1,3})?-(generic|aws|flatcar|cloud-amd64)", fullmatch=True),
    st.sampled_from(["ubuntu24.04", "flatcar4593.2.5", "debian12", "amzn2023"]),
)
def test_a_key_reads_as_it_is_written(branch: int, kernel: str, os: str) -> None:
    key = DriverKey(branch, kernel, os)
    assert DriverKey.parse(str(key)) == key
