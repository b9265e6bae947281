"""A hub on the lab's real engine, behind its real filter: who gets which GPU, where kernels run, what a kill leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab.instance import Instance
from platforms.docker.hub import PROXY_API
from platforms.docker.hub_files.names import LOGIN, Names, earlier_slug, slug
from tests.lab import docker_engines as engines
from tests.lab.docker_hub_images import all_images
from tests.lab.docker_hub_settings import HUB
from tests.lab.docker_hubs import DockerHub, running_hub, start_hub
from tests.lab.docker_people import Person, until

# The images are built first: minutes, where their packages are not in a cache.
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1500)]

DEVICES = "import glob; print(sorted(glob.glob('/dev/nvidia[0-9]*')))"
# Not `docker kill`: what somebody ends on purpose is not started again.
KILL_ALL = (
    "import os; [os.kill(int(p), 9) for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())]"
)
OLD_FILE = "printf mine > /old/thesis && chown -R 1000:1000 /old"
NOTICED_WITHIN_S = 90  # the hub looks after its servers every 30 s, its sweeper every 60


@pytest.fixture(scope="module")
def hub(new_instance: Callable[..., Instance], tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerHub]:
    port = new_instance(tmp_path_factory.mktemp("port"), "registry").ports["registry"]
    with engines.engine("hub", registry_port=port) as instance, engines.image_registry(instance):
        images = all_images(instance)
        with running_hub(instance, images, tmp_path_factory.mktemp("hub")) as running:
            yield running


@pytest.fixture
def person(hub: DockerHub) -> Iterator[Callable[[str], Person]]:
    """Logs people in; their servers end with the test."""
    people: list[Person] = []

    def enter(name: str) -> Person:
        people.append(hub.person(name))
        return people[-1]

    yield enter
    for each in people:
        if each.server():
            each.stop()
    assert [name for part in ("server", "gateway", "kernel") for name in hub.containers(part)] == []
    assert hub.holders() == {}
    assert f"{HUB}-user-" not in hub.docker("network", "ls", "--format", "{{.Name}}")


def failure(who: Person, profile: str) -> str:
    """What somebody reads whose server does not start."""
    who.begin(profile)
    time.sleep(0.25)  # a browser has to open the waiting page first
    last = list(who.events())[-1]
    assert last.get("failed"), last
    return str(last["message"])


def refused_kernel(who: Person, name: str) -> str:
    """What a notebook shows whose kernel does not start."""
    notebook = {"name": "x", "path": f"{time.monotonic()}.ipynb", "type": "notebook", "kernel": {"name": name}}
    answer = who.ask("POST", "sessions", json=notebook)
    assert answer.status_code == 500, answer.text
    return str(answer.json()["message"])


def test_two_servers_have_a_gpu_each_and_a_third_user_reads_who_has_them(
    hub: DockerHub, person: Callable[[str], Person]
) -> None:
    ann, bob, cyd = (person(name) for name in ("ann", "bob", "cyd@example.edu"))
    ann.start("with-gpu")
    bob.start("")
    assert hub.holders() == {0: f"{HUB}-server-ann", 1: f"{HUB}-server-bob"}
    for who, index in ((ann, 0), (bob, 1)):
        assert who.run(who.new_kernel(), DEVICES) == f"['/dev/nvidia{index}']"
    message = failure(cyd, "with-gpu")
    assert "“Python with a GPU” needs 1 GPU, and none of 2 is free" in message
    assert f"({HUB}-server-ann has GPU 0; {HUB}-server-bob has GPU 1)" in message
    ann.stop()
    cyd.start("with-gpu")
    assert hub.holders()[0].startswith(f"{HUB}-server-cyd-e--")


def test_of_two_who_start_at_once_one_gets_the_last_gpu(hub: DockerHub, person: Callable[[str], Person]) -> None:
    people = [person(name) for name in ("ann", "bob", "cyd")]

    def ready(who: Person) -> bool:
        who.begin("with-gpu")
        return bool(list(who.events())[-1].get("ready"))

    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(ready, people)) == [False, True, True]
    assert len(hub.containers("server")) == 2
    assert sorted(hub.holders()) == [0, 1]


def test_a_kernel_is_a_container_of_its_own_image_and_its_gpu_is_free_when_it_ends(
    hub: DockerHub, person: Callable[[str], Person]
) -> None:
    ann = person("ann")
    ann.start("kernels")
    assert hub.holders() == {}
    kernel = ann.new_kernel("gpu")
    (container,) = hub.containers("kernel")
    assert hub.holders() == {0: container}
    assert ann.run(kernel, "import os; print(1 + 1, os.environ['LAB_IMAGE'])") == "2 kernel"
    assert ann.run(kernel, DEVICES) == "['/dev/nvidia0']"
    assert hub.docker("exec", f"{HUB}-server-ann", "printenv", "LAB_IMAGE") == "server"
    assert hub.inspect(container)["Image"] != hub.inspect(f"{HUB}-server-ann")["Image"]
    assert ann.ask("DELETE", f"kernels/{kernel}").status_code == 204
    assert hub.containers("kernel") == []
    assert hub.holders() == {}
    assert ann.run(ann.new_kernel("cpu"), DEVICES) == "[]"


def test_server_and_kernel_see_the_same_files_and_so_does_the_next_server(
    hub: DockerHub, person: Callable[[str], Person]
) -> None:
    ann = person("ann")
    ann.start("kernels")
    ann.run(ann.new_kernel("cpu"), "print(open('lesson.txt', 'w').write('one'))")
    assert ann.ask("GET", "contents/lesson.txt").json()["content"] == "one"
    ann.stop()
    ann.start("with-gpu")
    assert ann.run(ann.new_kernel(), "print(open('lesson.txt').read())") == "one"
    assert f"{HUB}-home-ann" in hub.docker("volume", "ls", "--quiet").split()


def test_no_server_reaches_where_the_proxy_takes_commands(hub: DockerHub, person: Callable[[str], Person]) -> None:
    ann = person("ann")
    ann.start("with-gpu")
    networks = hub.inspect(f"{HUB}-proxy")["NetworkSettings"]["Networks"]
    control = networks[f"{HUB}-control"]["IPAddress"]
    tried = [f"{HUB}-proxy", networks[HUB]["IPAddress"], control, PROXY_API, f"{HUB}-hub"]
    ask = "import socket; socket.create_connection(({name!r}, 8001), 3); print('there')"
    reached = "\n".join(f"try: {ask.format(name=each)}\nexcept OSError: print('no')" for each in tried)
    assert ann.run(ann.new_kernel(), reached).split() == ["no"] * len(tried)
    assert hub.docker("exec", f"{HUB}-hub", "python3", "-c", ask.format(name=PROXY_API)).strip() == "there"


def test_a_home_made_before_homes_had_labels_is_there_after_the_update(
    hub: DockerHub, person: Callable[[str], Person]
) -> None:
    login = "zoe@example.edu"
    zoe = person(login)  # the account is older than the home
    home = Names(HUB, earlier_slug(login)).home
    time.sleep(1.5)  # an engine knows seconds only
    image = hub.images["server"]
    hub.docker("run", "--rm", "--user", "0", "--volume", f"{home}:/old", image, "sh", "-c", OLD_FILE)
    zoe.start("with-gpu")
    assert zoe.run(zoe.new_kernel(), "print(open('/home/jovyan/thesis').read())") == "mine"
    (mount,) = hub.inspect(hub.containers("server")[0])["Mounts"]
    assert mount["Name"] == home
    (record,) = hub.docker("volume", "ls", "--quiet", "--filter", f"label={LOGIN}={login}").split()
    assert record == Names(HUB, slug(login)).home


def test_a_kernel_without_a_gpu_left_says_who_has_them_and_so_does_one_too_many(
    hub: DockerHub, person: Callable[[str], Person]
) -> None:
    ann, bob = person("ann"), person("bob")
    bob.start("two-gpus")
    ann.start("kernels")
    message = refused_kernel(ann, "gpu")
    assert f"“GPU kernel” needs 1 GPU, and none of 2 is free ({HUB}-server-bob has GPU 0 and 1)" in message
    for _ in range(2):
        ann.new_kernel("cpu")
    assert "You have 2 kernels, the most that this hub allows one server" in refused_kernel(ann, "cpu")
    assert len(hub.containers("kernel")) == 2


def test_an_image_that_is_nowhere_is_named_to_the_user(person: Callable[[str], Person]) -> None:
    message = failure(person("ann"), "lost-image")
    assert "The image of “Lost image”" in message
    assert "cannot be downloaded: the registry does not have it" in message


def test_a_kernel_that_was_killed_starts_again_on_its_gpu_and_can_be_interrupted(
    hub: DockerHub, person: Callable[[str], Person]
) -> None:
    ann = person("ann")
    ann.start("kernels")
    kernel = ann.new_kernel("gpu")
    assert ann.run(kernel, "print(1)") == "1"
    (container,) = hub.containers("kernel")
    hub.docker("kill", container)
    assert hub.holders() == {}
    until(lambda: hub.holders() == {0: container}, "the kernel", 30)
    assert ann.run(kernel, "print(2)") == "2"
    with ThreadPoolExecutor() as pool:
        sleeping = pool.submit(ann.run, kernel, "import time; time.sleep(50)")
        time.sleep(2)
        assert ann.ask("POST", f"kernels/{kernel}/interrupt").status_code == 204
        assert "KeyboardInterrupt" in sleeping.result(20)


def test_a_kernel_whose_gpu_is_gone_when_it_starts_again_is_dead_and_holds_nothing(
    hub: DockerHub, person: Callable[[str], Person]
) -> None:
    ann, bob = person("ann"), person("bob")
    bob.start("with-gpu")
    ann.start("kernels")
    kernel = ann.new_kernel("gpu")
    assert ann.run(kernel, "print(1)") == "1"
    (container,) = hub.containers("kernel")
    theirs = ("run", "-d", "--name", "theirs", "--network", "gpu-commons-card-1", "--entrypoint", "sleep")
    hub.docker("pause", f"{HUB}-gateway-ann")  # else it may start the kernel again before the card has somebody else
    hub.docker("kill", container)
    try:
        hub.docker(*theirs, hub.images["kernel"], "60")
        hub.docker("unpause", f"{HUB}-gateway-ann")
        until(lambda: ann.ask("GET", "kernels").json() == [], "the end of the kernel", 30)
        assert hub.holders() == {0: f"{HUB}-server-bob", 1: "theirs"}
        assert "theirs has GPU 1" in refused_kernel(ann, "gpu")
    finally:
        hub.docker("rm", "--force", "theirs")
    assert ann.run(ann.new_kernel("gpu"), "print(2)") == "2"


def test_a_gateway_that_was_killed_starts_again_without_the_kernels_that_it_lost(
    hub: DockerHub, person: Callable[[str], Person]
) -> None:
    ann = person("ann")
    ann.start("kernels")
    ann.new_kernel("gpu")
    (lost,) = hub.containers("kernel")
    hub.docker("exec", f"{HUB}-gateway-ann", "python3", "-c", KILL_ALL)
    until(lambda: lost not in hub.containers("kernel"), "the end of the kernel", 40)
    assert hub.holders() == {}
    until(lambda: ann.ask("GET", "kernelspecs").json()["kernelspecs"], "the gateway", 30)
    assert ann.run(ann.new_kernel("gpu"), "print(3)") == "3"


def test_a_hub_that_was_killed_finds_its_servers_and_kernels_again(
    hub: DockerHub, person: Callable[[str], Person]
) -> None:
    ann, bob = person("ann"), person("bob")
    ann.start("kernels")
    bob.start("with-gpu")
    kernel = ann.new_kernel("gpu")
    assert ann.run(kernel, "x = 4; print(x)") == "4"
    hub.docker("kill", f"{HUB}-hub")
    assert ann.run(kernel, "print(x)") == "4"  # the proxy keeps the routes
    hub.docker("rm", f"{HUB}-hub")
    start_hub(hub)
    hub.ready()
    until(lambda: ann.server().get("ready"), "the server of ann", 60)
    assert bob.server()["ready"]
    assert ann.run(kernel, "print(x)") == "4"
    assert sorted(hub.holders().values()) == [*hub.containers("kernel"), f"{HUB}-server-bob"]


def test_what_a_server_leaves_that_ends_by_itself_ends_too(hub: DockerHub, person: Callable[[str], Person]) -> None:
    ann = person("ann")
    ann.start("kernels")
    ann.new_kernel("gpu")
    hub.docker("kill", f"{HUB}-server-ann")
    until(
        lambda: not hub.containers("gateway") and not hub.holders() and not ann.server(),
        "the end of gateway, kernel and server",
        NOTICED_WITHIN_S,
    )


def test_what_a_hub_lost_while_it_was_down_is_swept(hub: DockerHub, person: Callable[[str], Person]) -> None:
    ann = person("ann")
    ann.start("kernels")
    ann.new_kernel("gpu")
    hub.docker("kill", f"{HUB}-hub")
    hub.docker("rm", "--force", f"{HUB}-hub", f"{HUB}-server-ann")
    start_hub(hub)
    hub.ready()
    until(lambda: not hub.containers("gateway") and not hub.holders(), "the sweeper", NOTICED_WITHIN_S)
    until(lambda: not ann.server(), "the end of the server", 30)
