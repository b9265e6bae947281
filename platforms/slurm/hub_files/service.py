"""Starts, watches and ends a hub and its proxy on a login node, as the hub's account, never as root.

A keeper beside them holds the hub's port, so that nobody else listens there while the hub is down, and writes down
Slurm's nodes, so that the hub believes no user's account what is a node.

    python3 -I service.py start|status|stop

Safe to repeat: what runs as it should is left alone, so that a line in a crontab may call `start`. Credentials are born
here, in the account's home, and never leave it. Python 3.6, standard library and the image of the hub only.
"""

import contextlib
import fcntl
import hashlib
import ipaddress
import json
import os
import re
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set

HERE = Path(__file__).resolve().parent
SERVERS = ("proxy", "hub")  # in the order of their start: the hub tells the proxy its routes
KEEPER = "keeper"
PARTS = (KEEPER,) + SERVERS
NODES_EVERY_S = 60
ANSWERS_WITHIN_S = 180  # where users may not mount images, one is unpacked first
ENDS_WITHIN_S = 15
VALID_DAYS = 825
RENEWED_BEFORE_S = 30 * 24 * 3600
SHARED_PASSWORD = "shared-password"  # noqa: S105 - the name of an authenticator
LAST_LINES = 15
SSH_FAILED = 255  # ssh itself: what a command ends with is another number
REFUSED = re.compile(r"Permission denied \(")
LISTENS = "0A"  # a state in /proc/net/tcp


class Failed(Exception):  # noqa: N818 - says what is the matter
    """Something could not be started or ended; the words say what and why."""


class Service:
    """One hub. Its folder is the stack's, its state the account's."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.text = (folder / "hub.json").read_text(encoding="utf-8")
        self.hub = json.loads(self.text)  # type: Dict[str, Any]
        self.state = home / ".gpu-commons" / "hubs" / self.hub["hub"]
        self.credentials = self.state / "credentials"
        self.tls = self.state / "tls"

    def start(self) -> Dict[str, Any]:
        """Everything, in an order in which what was killed is completed by the next run."""
        for each in (self.state, self.credentials, self.tls):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.write_credentials()
        self.write_certificate()
        started = [part for part in PARTS if self.ensure(part)]
        self.wait()
        return {"started": started, "state": str(self.state)}

    def status(self) -> Dict[str, Any]:
        """What does not run as it should; empty where everything does."""
        return {"wrong": [part for part in PARTS if not self.is_served(part)], "state": str(self.state)}

    def stop(self) -> Dict[str, Any]:
        """End the hub, then what its users have, then the proxy. Raises Failed where an account cannot be reached."""
        self.end("hub")
        left = self.end_servers(self.hub["accounts"].values())
        self.end("proxy")
        self.end(KEEPER)
        if left:
            raise Failed("jobs of these accounts could not be ended: {}".format("; ".join(left)))
        return {"stopped": True}

    def end_servers(self, accounts: Iterable[str]) -> List[str]:
        """End every job of the hub of these accounts; what could not be done.

        An account that lets the hub in no longer, or that is gone, is none of these: nothing can be done there. Where
        all of them refuse, it is the key that is wrong. Raises Failed.
        """
        submit = self.hub["submit"]
        if not os.access(submit["identity"], os.R_OK):
            raise Failed("{} cannot be read: give it to this account".format(submit["identity"]))
        left, skipped, asked = [], [], sorted(set(accounts))
        options = ["BatchMode=yes", "ConnectTimeout=10", "IdentitiesOnly=yes", "StrictHostKeyChecking=yes"]
        options.append("UserKnownHostsFile=" + submit["known_hosts"])
        words = ["ssh", "-F", "none", "-T", "-i", submit["identity"], "-p", str(submit["port"])]
        for option in options:
            words += ["-o", option]
        for account in asked:
            where = "{}@{}".format(account, submit["address"])
            done = run(words + ["--", where, "end " + self.hub["hub"]])
            if done.returncode == SSH_FAILED and REFUSED.search(last_line(done.stderr)):
                skipped.append(account)
            elif done.returncode:
                left.append("{} ({})".format(account, done.stderr.strip() or done.returncode))
        if skipped and len(skipped) == len(asked) > 1:
            raise Failed("no account lets the key {} in: {}".format(submit["identity"], ", ".join(skipped)))
        for account in skipped:
            print("{} does not let this hub in: its jobs end with their time".format(account), file=sys.stderr)
        return left

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """One start, update or stop at a time, also of a crontab's."""
        self.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self.state / "lock").open("a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield

    # --- processes

    def ensure(self, part: str) -> bool:
        """Start a part, unless it runs as it should; whether it was started."""
        if self.is_right(part):
            return False
        self.end(part)
        argv = self.argv(part)
        log = self.state / (part + ".log")
        with log.open("ab") as sink:
            child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True,
                cwd=str(self.state), env=self.environment(),
            )  # fmt: skip
        record = {"pid": child.pid, "born": born(child.pid), "pin": self.pin(part)}
        record["host"] = socket.gethostname()
        put(self.state / (part + ".json"), json.dumps(record).encode())
        return True

    def is_right(self, part: str) -> bool:
        """Whether it runs, and as this version wants it."""
        record = self.record(part)
        if record is None:
            return False
        return bool(record["pin"] == self.pin(part) and is_running(record))

    def port(self, part: str) -> int:
        """Where a part listens."""
        return int(self.hub["expose"]["port"] if part == "proxy" else self.hub["hub_port"])

    def is_served(self, part: str) -> bool:
        """Whether it runs as this version wants it, and its port is this account's and nobody else's."""
        return self.is_right(part) and (part not in SERVERS or os.getuid() in listeners(self.port(part)))

    def record(self, part: str) -> Optional[Dict[str, Any]]:
        """What was started last, or nothing. Raises Failed where that was on another machine."""
        try:
            found = json.loads((self.state / (part + ".json")).read_text(encoding="utf-8"))  # type: Dict[str, Any]
        except (OSError, ValueError):
            return None
        here = socket.gethostname()
        if found.get("host", here) != here:
            said = "the {} of hub {} was started on {}, and this is {}: let hubs.access.address name {}"
            raise Failed(said.format(part, self.hub["hub"], found["host"], here, found["host"]))
        return found

    def end(self, part: str) -> None:
        """End a part and all that it has started."""
        record = self.record(part)
        if record is None:
            return
        if is_running(record):
            with contextlib.suppress(OSError):
                os.kill(record["pid"], signal.SIGTERM)
            wait_for(lambda: not is_running(record), ENDS_WITHIN_S)
        for pid in of_session(record["pid"]):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not of_session(record["pid"]), ENDS_WITHIN_S)
        with contextlib.suppress(OSError):
            (self.state / (part + ".json")).unlink()

    def pin(self, part: str) -> str:
        """Changes with what makes another process of it."""
        told = json.dumps(self.argv(part)).encode()
        if part == KEEPER:
            told += Path(__file__).read_bytes() + json.dumps([self.hub["inside"], self.hub["hub_port"]]).encode()
        elif part == "hub":
            programs = sorted((self.folder / "hub_files").iterdir())
            told += self.text.encode() + b"".join(path.read_bytes() for path in programs)
        else:
            with contextlib.suppress(OSError):
                told += (self.tls / "tls.crt").read_bytes()
        return hashlib.sha256(told).hexdigest()[:16]

    def environment(self) -> Dict[str, str]:
        """What the program that starts images needs, and what passes into the image."""
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "USER") if key in os.environ}
        kept[self.hub["prefix"] + "PYTHONPATH"] = "/program"
        return kept

    def argv(self, part: str) -> List[str]:
        """The command of a part."""
        hub = self.hub
        if part == KEEPER:
            return [sys.executable, "-I", str(self.folder / "service.py"), "keep"]
        if part == "proxy":
            expose, inside = hub["expose"], "http://{}:{}".format(hub["inside"], hub["hub_port"])
            flags = [
                "--ip=" + expose["address"],
                "--port={}".format(expose["port"]),
                "--api-ip=127.0.0.1",
                "--api-port={}".format(hub["proxy_api_port"]),
                "--default-target=" + inside,
                "--error-target={}/hub/error".format(inside),
                "--ssl-cert=/tls/tls.crt",
                "--ssl-key=/tls/tls.key",
            ]
            # The proxy reads its token from the environment only.
            started = 'CONFIGPROXY_AUTH_TOKEN="$(cat /tls/proxy-token)" exec configurable-http-proxy "$@"'
            return self.inside("proxy", ["sh", "-c", started, "proxy"] + flags, ["{}:/tls:ro".format(self.tls)])
        submit = hub["submit"]
        binds = [
            "{}:/state".format(self.state),
            "{}:/program:ro".format(self.folder),
            "{}:/identity:ro".format(submit["identity"]),
            "{}:/known_hosts:ro".format(submit["known_hosts"]),
        ]
        command = ["jupyterhub", "--config", "/program/hub_files/jupyterhub_config.py"]
        return self.inside("hub", command, binds, ["--pwd", "/state"])

    def inside(self, image: str, command: List[str], binds: List[str], more: Sequence[str] = ()) -> List[str]:
        """A command in an image: nothing of the account's home, and only what is bound."""
        # In a PID namespace of its own all of it ends with it: services of a hub have sessions of their own.
        words = [str(self.hub["program"]), "exec", "--pid", "--cleanenv", "--contain"]
        for bind in binds:
            words += ["--bind", bind]
        return words + list(more) + [str(self.hub["images"][image])] + command

    def wait(self) -> None:
        """Until hub and proxy answer. Raises Failed with the end of a log."""
        hub = self.hub
        asked = "https://{}:{}/hub/api/".format(hub["host"], hub["expose"]["port"])

        def is_there() -> bool:
            return all(map(self.is_served, PARTS)) and answers(asked)

        wait_for(lambda: is_there() or self.taken() is not None or not all(map(self.is_right, PARTS)), ANSWERS_WITHIN_S)
        if is_there():
            return
        taken = self.taken()
        if taken is not None:
            self.end("proxy")  # people would give their passwords, and the hub its routes, to somebody else
            raise Failed(taken)
        ended = [part for part in PARTS if not self.is_right(part)]
        part = (ended or ["hub"])[0]
        said = "the {} of hub {} {}".format(part, hub["hub"], "has ended" if ended else "does not answer")
        raise Failed("{}; the last lines of its log:\n{}".format(said, tail(self.state / (part + ".log"))))

    def taken(self) -> Optional[str]:
        """A port that somebody else listens on, in a sentence."""
        for part in SERVERS:
            uids = listeners(self.port(part))
            if uids and os.getuid() not in uids:
                said = "port {} of the {} of hub {} is taken by user id {}: choose another port"
                return said.format(self.port(part), part, self.hub["hub"], ", ".join(map(str, sorted(uids))))
        return None

    # --- the keeper

    def keep(self) -> None:
        """Run until the service ends it."""
        held = []  # type: List[socket.socket]
        while True:
            self.write_nodes()
            until = time.monotonic() + NODES_EVERY_S
            while time.monotonic() < until:
                if not held:
                    held = self.held_port()
                time.sleep(1 if not held else NODES_EVERY_S)

    def held_port(self) -> List[socket.socket]:
        """The hub's port, bound and not listened on: Linux lets only this account listen there.

        Empty while a hub of an earlier version is there, or somebody else.
        """
        try:
            found = socket.getaddrinfo(self.hub["inside"], self.hub["hub_port"], type=socket.SOCK_STREAM)
        except OSError:
            return []
        family, kind, protocol, _, address = found[0]
        held = socket.socket(family, kind, protocol)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            held.bind(address)
        except OSError:
            held.close()
            return []
        return [held]

    def write_nodes(self) -> None:
        """Nodes of each partition, as Slurm tells this account. What was known stays where it tells nothing."""
        config = json.loads((self.folder / "jobs.json").read_text(encoding="utf-8")).get("config")
        env = dict(os.environ, SLURM_CONF=config) if config else dict(os.environ)
        done = run(["scontrol", "show", "node", "--oneliner"], env)
        if done.returncode:
            print("Slurm's nodes are not known: {}".format(last_line(done.stderr)), file=sys.stderr, flush=True)
            return
        nodes = {}  # type: Dict[str, List[str]]
        for line in done.stdout.splitlines():
            told = dict(word.partition("=")[::2] for word in line.split())
            for partition in filter(None, told.get("Partitions", "").split(",")):
                nodes.setdefault(partition, []).extend({told[key] for key in ("NodeName", "NodeAddr") if key in told})
        put(self.state / "nodes.json", json.dumps(nodes, sort_keys=True).encode())

    # --- credentials

    def write_credentials(self) -> None:
        """What the hub and the proxy know and nobody else. A file that is there is kept."""
        options = self.hub["options"]
        token = self.credentials / "proxy-token"
        if not token.exists() or not (self.tls / "proxy-token").exists():
            value = secrets.token_hex(32).encode()
            put(self.tls / "proxy-token", value)
            put(token, value)
        made = {"cookie-secret": secrets.token_hex(32)}
        if options["JupyterHub"].get("authenticator_class") == SHARED_PASSWORD:
            made["login-password"] = secrets.token_urlsafe(18)
            if options["Authenticator"].get("admin_users"):
                made["admin-password"] = secrets.token_urlsafe(27)  # JupyterHub wants 32 characters or more
        for name, text in made.items():
            if not (self.credentials / name).exists():
                put(self.credentials / name, text.encode())
        if self.hub.get("client_secret"):
            put(self.credentials / "client-secret", read(self.hub["client_secret"]).strip())

    def write_certificate(self) -> None:
        """The site's own files, or one that is signed here and renewed before it ends."""
        given, signed_here = self.hub["expose"], self.tls / "signed-here"
        if given.get("certificate"):
            put(self.tls / "tls.key", read(given["key"]))
            put(self.tls / "tls.crt", read(given["certificate"]))
            with contextlib.suppress(OSError):
                signed_here.unlink()
            return
        name = address_of(self.hub["host"])
        if signed_here.exists() and signed_here.read_text() == name and self.is_valid():
            return
        done = self.openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(VALID_DAYS),
            "-subj", "/CN=JupyterHub", "-addext", "subjectAltName=" + name, "-keyout", "/tls/new.key",
            "-out", "/tls/new.crt",
        )  # fmt: skip
        if done.returncode:
            raise Failed("openssl made no certificate: {}".format(done.stderr.strip()))
        (self.tls / "new.key").chmod(0o600)
        (self.tls / "new.key").rename(self.tls / "tls.key")
        (self.tls / "new.crt").rename(self.tls / "tls.crt")
        put(signed_here, name.encode())

    def is_valid(self) -> bool:
        """Whether the certificate is there and does not end soon."""
        if not (self.tls / "tls.crt").exists():
            return False
        words = ["x509", "-noout", "-checkend", str(RENEWED_BEFORE_S), "-in", "/tls/tls.crt"]
        return self.openssl(*words).returncode == 0

    def openssl(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Of the hub's image: no login node has to have one."""
        argv = self.inside("hub", ["openssl"] + list(words), ["{}:/tls".format(self.tls)])
        return run(argv, env=self.environment())


def run(argv: List[str], env: Optional[Mapping[str, str]] = None) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end. Raises Failed where it is not there."""
    try:
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
            env=env, check=False,
        )  # fmt: skip
    except OSError as error:
        raise Failed("{} cannot be started: {}".format(argv[0], error.strerror))


def is_running(record: Mapping[str, Any]) -> bool:
    """Whether what was started is there still, and not another process with its number."""
    return record["born"] is not None and born(record["pid"]) == record["born"]


def listeners(port: int) -> Set[int]:
    """Whose processes listen on a port of this machine, by any address."""
    found = set()
    for name in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/net/" + name).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(int(fields[7]))
    return found


def last_line(text: str) -> str:
    """The last one that says something."""
    return text.strip().rpartition("\n")[2]


def born(pid: int) -> Optional[int]:
    """When a process was started, in ticks since the machine's start; None where there is none or it has ended."""
    fields = stat_of(pid)
    return int(fields[19]) if fields and fields[0] not in "ZX" else None


def of_session(leader: int) -> List[int]:
    """Processes that a part has started, itself among them."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            fields = stat_of(int(entry))
            if fields and fields[0] not in "ZX" and int(fields[3]) == leader and owner(int(entry)) == os.getuid():
                found.append(int(entry))
    return found


def stat_of(pid: int) -> Optional[List[str]]:
    """Fields of /proc/PID/stat behind the name, which may hold anything: state, parent, group, session, …."""
    try:
        return Path("/proc/{}/stat".format(pid)).read_text().rpartition(")")[2].split()
    except OSError:
        return None


def owner(pid: int) -> Optional[int]:
    """Whose process it is."""
    try:
        return os.stat("/proc/{}".format(pid)).st_uid
    except OSError:
        return None


def answers(url: str) -> bool:
    """Whether a hub is behind it. Its certificate may be one of its own: nothing is told it."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        return "version" in opener.open(url, timeout=5).read().decode()
    except (OSError, ValueError):
        return False


def address_of(host: str) -> str:
    """What people open, as a certificate names it."""
    try:
        return "IP:{}".format(ipaddress.ip_address(host))
    except ValueError:
        return "DNS:{}".format(host)


def wait_for(holds: Callable[[], bool], within_s: float) -> bool:
    """Whether it comes about in time."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def read(path: str) -> bytes:
    """A file of the site. Raises Failed with what to change."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Failed("{} cannot be read: {}; give it to this account".format(path, error.strerror))


def put(path: Path, content: bytes) -> None:
    """A file that only the account reads, and that is there as a whole or as it was."""
    new = path.with_name(".{}.new".format(path.name))
    with contextlib.suppress(OSError):
        new.unlink()
    with os.fdopen(os.open(str(new), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(content)
    new.rename(path)


def tail(path: Path) -> str:
    """The end of a log."""
    try:
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:])
    except OSError:
        return "(no log yet)"


def main(words: List[str]) -> Dict[str, Any]:
    """One of the three; its answer as JSON. Raises Failed."""
    if words[:1] == ["keep"]:  # by `start`, which has looked who it is
        Service(HERE, Path.home()).keep()
    if os.getuid() == 0:
        raise Failed("a hub never runs as root: let hubs.access name an account of its own")
    service = Service(HERE, Path.home())
    if words[:1] == ["status"]:
        return service.status()
    with service.alone():
        if words[:1] == ["end"]:
            return {"left": service.end_servers(words[1:])}
        return {"start": service.start, "stop": service.stop}[words[0]]()


if __name__ == "__main__":
    os.umask(0o077)
    try:
        print(json.dumps(main(sys.argv[1:])))
    except Failed as failed:
        sys.exit(str(failed))
