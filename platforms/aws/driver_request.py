"""The driver requested by a pool: one version, any of a branch, or the newest that fits."""

import re
from dataclasses import dataclass
from typing import Final, Self

from compat.values.versions import DriverVersion, VersionError


@dataclass(frozen=True, slots=True)
class WantedDriver:
    """Neither field set: the newest that fits. A driver has its branch."""

    branch: int | None = None
    driver: DriverVersion | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `newest`, `R580`, `580` and `580.126.09`; raises VersionError."""
        plain = text.strip()
        if plain.lower() in {"newest", "latest"}:
            return cls()
        if found := re.fullmatch(r"[Rr]?([1-9]\d{2})(?:\.x)?", plain, re.ASCII):
            return cls(branch=int(found[1]))
        try:
            driver = DriverVersion.parse(plain)
        except VersionError:
            raise VersionError(text, "is not a driver such as 580.126.09, a branch such as R580, or newest") from None
        return cls(driver.branch, driver)

    def takes(self, driver: DriverVersion) -> bool:
        """Is this driver accepted?"""
        return self.branch in {None, driver.branch} and self.driver in {None, driver}

    def __str__(self) -> str:
        if self.driver is not None:
            return str(self.driver)
        return "newest" if self.branch is None else f"R{self.branch}"


NEWEST: Final = WantedDriver()
