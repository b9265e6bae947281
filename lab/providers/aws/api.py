"""AWS services: clients, calls, and errors in words that a user can act on."""

from __future__ import annotations

import functools
import threading
from typing import Any, Final

import botocore.session
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from botocore.parsers import ResponseParserError

from lab.providers.aws.configuration import Settings
from lab.providers.aws.shapes import Renames, from_service
from lab.providers.values import Properties
from lab.providers.vocabulary import PluginError

REFUSED_CREDENTIALS: Final = frozenset(
    {
        "AuthFailure", "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidClientTokenId",
        "InvalidToken", "SignatureDoesNotMatch", "UnrecognizedClientException",
    }
)  # fmt: skip


class AwsError(PluginError):
    """A service refused an operation; `code` is its reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class UnreachableError(PluginError):
    """The endpoint does not answer."""


@functools.cache
def model(service: str) -> Any:
    """The service as AWS describes it."""
    return botocore.session.Session().get_service_model(service)


class Services:
    """The account, in the requested regions. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._session = botocore.session.Session()
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()
        self._account = ""

    def call(
        self, service: str, operation: str, parameters: Properties, *, region: str = "", renames: Renames | None = None
    ) -> Properties:
        """The answer, with Pulumi's names. Raises AwsError and UnreachableError."""
        try:
            answer = getattr(self._client(service, region), xform_name(operation))(**parameters)
        except ClientError as error:
            code, message = (str(error.response["Error"].get(key, "")) for key in ("Code", "Message"))
            if code in REFUSED_CREDENTIALS:
                message += "; the credentials may have expired, or are those of another account"
            raise AwsError(code, f"{operation}: {code}: {message}") from error
        except ParamValidationError as error:
            raise AwsError("ParamValidation", f"{operation}: {' '.join(str(error).split())}") from error
        except ResponseParserError as error:
            raise AwsError(
                "InternalFailure", f"{operation}: an error of the emulator, not a response from AWS"
            ) from error
        except BotoCoreError as error:
            endpoint = self.settings.endpoint_of(service)
            reason = f"{operation}: {endpoint} does not answer ({' '.join(str(error).split())})"
            raise UnreachableError(f"{reason}; `make up` starts the lab's AWS, `make status` shows it") from error
        shape = model(service).operation_model(operation).output_shape
        return dict(from_service(answer, shape, renames or {})) if shape is not None else {}

    @property
    def account(self) -> str:
        if not self._account:
            self._account = str(self.call("sts", "GetCallerIdentity", {})["account"])
        return self._account

    def _client(self, service: str, region: str) -> Any:
        key = service, region or self.settings.region
        with self._lock:  # a session creates one client at a time
            if key not in self._clients:
                self._clients[key] = self._session.create_client(
                    service,
                    region_name=key[1],
                    endpoint_url=self.settings.endpoint_of(service),
                    aws_access_key_id=self.settings.access_key,
                    aws_secret_access_key=self.settings.secret_key,
                    aws_session_token=self.settings.token or None,
                    config=Config(
                        connect_timeout=5, read_timeout=120, proxies={}, max_pool_connections=64,
                        retries={"mode": "standard", "max_attempts": 3},
                    ),
                )  # fmt: skip
            return self._clients[key]
