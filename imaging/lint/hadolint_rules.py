"""The hadolint rules that we pass on, their wording, and reasons to drop the others.

Rules in none of the tables are passed on with a link to their page, including ShellCheck's and new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# One of our rules finds the same mistake and knows more about it.
OURS: Final[Mapping[str, str]] = {
    "DL3002": "D-ROOT",
    "DL3006": "D-BASE",
    "DL3007": "D-LATEST",
    "DL3009": "D-LISTS",
    "DL3019": "D-LISTS",
    "DL3032": "D-LISTS",
    "DL3036": "D-LISTS",
    "DL3040": "D-LISTS",
    "DL3042": "D-CACHE",
    "DL3064": "D-SECRET",
}

_PIN: Final = (
    "a distribution's archive keeps one version of a package, so a pin breaks the build at the next update; the "
    "digest of the base, or a dated archive, is what makes a build repeatable. What must be pinned for CUDA is "
    "D-LIBRARIES' to say"
)
LEFT_OUT: Final[Mapping[str, str]] = {
    "DL3003": "cd in the middle of a RUN ends with it; a WORKDIR would stay for everything below",
    "DL3008": _PIN,
    "DL3018": _PIN,
    "DL3033": _PIN,
    "DL3037": _PIN,
    "DL3041": _PIN,
    "DL3022": "the name may be a build context that is given on the command line, or an image",
    "DL3029": "an image for GPUs is often meant for one platform, and FROM is the place to say so",
    "DL3045": "the base image may have a WORKDIR, as all Jupyter images do; hadolint does not see it",
    "DL3059": "instructions that change at different times belong into different layers (D-ORDER)",
    "DL4001": "curl and wget together cost less than a megabyte",
}

# Dropped for an instruction with a finding of one of these rules of ours.
BEATEN_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "DL3013": ("D-FRAMEWORK", "D-REQUIREMENTS"),
    "DL3020": ("D-CHECKSUM",),
    "DL4006": ("D-PIPE",),
}

# DL4006 requires pipefail for every pipe. If only these feed it, nothing important can fail unseen.
SAFE_FEEDERS: Final = frozenset({"echo", "printf", "yes", "find"})

FIXES: Final[Mapping[str, str]] = {
    "DL3000": "write the whole path, beginning with /",
    "DL3004": "take sudo out: a RUN is root until USER says otherwise; put USER root and USER back around it",
    "DL3011": "name a port from 0 to 65535",
    "DL3012": "keep one HEALTHCHECK; only the last one counts",
    "DL3013": "pip install NAME==VERSION, or install from a lock with -r",
    "DL3014": "apt-get install -y: a build has nobody to answer",
    "DL3016": "npm install NAME@VERSION, or npm ci with a lock file",
    "DL3020": "COPY for files of the context; ADD is for archives, URLs and repositories",
    "DL3021": "end the target with /",
    "DL3023": "name another stage",
    "DL3024": "give each stage a name of its own",
    "DL3025": 'write a list, CMD ["program", "argument"]: a shell in between does not pass signals on',
    "DL3027": "apt-get: the command line of apt changes between releases",
    "DL3028": "gem install NAME:VERSION",
    "DL3030": "yum install -y: a build has nobody to answer",
    "DL3034": "zypper install -y: a build has nobody to answer",
    "DL3038": "dnf install -y: a build has nobody to answer",
    "DL3043": "take it out of ONBUILD",
    "DL3044": "set the first variable in an ENV of its own, above",
    "DL3046": "useradd -l: with a high UID lastlog otherwise fills the layer",
    "DL3062": "go install NAME@VERSION",
    "DL3067": "copy the folders that are needed",
    "DL4000": "LABEL org.opencontainers.image.authors=…",
    "DL4003": "keep one CMD; only the last one counts",
    "DL4004": "keep one ENTRYPOINT; only the last one counts",
    "DL4005": 'SHELL ["/bin/bash", "-c"] instead of another link at /bin/sh',
    "DL4006": (
        'SHELL ["/bin/bash", "-o", "pipefail", "-c"] above it, or set -o pipefail: a failure before the | goes unseen '
        "otherwise. hadolint does not see a SHELL of the base image"
    ),
}
