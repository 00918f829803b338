"""Cuts the network between nodes, and between nodes and machines. Each has its own network namespace.

Nodes are connected to each other by one network and to clients by another, so that a node can be cut off from either. A cut is
silent: no connection is closed.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import fleet
import fleet_cluster
from cluster import wait_for

NODES = ("node0", "node1", "node2")
MACHINES = {name: f"machine{name}" for name in "ABC"}


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Network:
    """Two bridges in the namespace of this process, with a cable to each node and machine."""

    def __init__(self):
        ip("link", "set", "lo", "up")
        for bridge, address in (("clients", "10.77.1.254/24"), ("peers", "10.77.2.254/24")):
            ip("link", "add", bridge, "type", "bridge")
            ip("addr", "add", address, "dev", bridge)
            ip("link", "set", bridge, "up")
        for number, name in enumerate((*NODES, *MACHINES.values()), 1):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            self.cable(name, "clients", "c", f"10.77.1.{number}/24")
            if name in NODES:
                self.cable(name, "peers", "p", f"10.77.2.{number}/24")

    def cable(self, name, bridge, kind, address):
        ip("link", "add", f"{kind}{name}", "type", "veth", "peer", "name", kind, "netns", name)
        ip("link", "set", f"{kind}{name}", "master", bridge, "up")
        ip("-n", name, "addr", "add", address, "dev", kind)
        ip("-n", name, "link", "set", kind, "up")

    def cut(self, name, kind):
        ip("link", "set", f"{kind}{name}", "down")
        return lambda: ip("link", "set", f"{kind}{name}", "up")


def leader_without_followers(world, network):
    """The leader is cut off from the other nodes, but not from the machines."""
    return fleet_cluster.during_storm(
        world, lambda nodes: network.cut(NODES[nodes.leader()], "p"), namespaces=MACHINES)


def follower_alone(world, network):
    """A follower is cut off from the other nodes, but not from the machines."""
    return fleet_cluster.during_storm(
        world, lambda nodes: network.cut(NODES[(nodes.leader() + 1) % 3], "p"), namespaces=MACHINES)


def leader_gone(world, network):
    """The leader is completely cut off."""
    def act(nodes):
        name = NODES[nodes.leader()]
        restore = [network.cut(name, "p"), network.cut(name, "c")]
        return lambda: [one() for one in restore]
    return fleet_cluster.during_storm(world, act, namespaces=MACHINES)


def machine_cut_off(world, network, seconds, other=False):
    """A machine that has spent a token loses the network, and regains it before it gives up, or afterwards."""
    case = fleet.Case(world, "ABC", name="cut", namespaces=MACHINES).sign_in()
    b, restore = case.machines["B"], []
    case.expect(b.run("whoami").text == "alice", "the signed-in user is not known")

    def at_service(request):
        if request.path != "/oauth/token" or restore:
            return None
        restore.append(network.cut(MACHINES["B"], "c"))
        return None
    case.service_rule = at_service
    program = b.start("refresh")
    wait_for("the token was spent", lambda: restore and fleet_cluster.exchanges(case) > 1)
    if other:
        # While it is cut off, the machine returns the valid token and changes nothing.
        for command, statuses in ((["whoami", "--offline"], (0,)), (["logout"], (75,))):
            said = b.run(*command)
            case.expect(said.status in statuses, f"{said.command} without network ended with {said.status}: {said.text}")
        # Treat the program as interrupted for longer than the leases last.
        program.is_interrupted = True
        world.cluster.revoke(world.cluster.leases_below(f"{case.prefix}/account/"))
        said = case.machines["C"].run("refresh")
        case.expect(said.status in (0, 77), f"another refresh: {said.status} {said.text}")
    else:
        time.sleep(seconds)
    restore[0]()
    said = program.wait()
    if seconds and not other:
        case.expect(said.status == 0, f"the network was away for {seconds} s, and the refresh ended with {said.status}: {said.text}")
        case.expect(stored(case) == 2, f"the network was away for {seconds} s, but the late response is not stored: {said.text}")
    # Locks that were held during the cut could not be released.
    case.may_leave_leases = True
    return case


def stored(case):
    """The number of different tokens that were stored."""
    case.collect()
    return sum(1 for change in case.changes if change.key.endswith("Account.plist"))


CASES = {
    "leader without followers": leader_without_followers, "leader cut off": leader_gone, "follower alone": follower_alone,
    "machine cut off for 3 s": lambda *a: machine_cut_off(*a, seconds=3),
    "machine cut off, another refreshes": lambda *a: machine_cut_off(*a, seconds=0, other=True),
    "machine cut off for 12 s": lambda *a: machine_cut_off(*a, seconds=12),
    "machine cut off for 40 s": lambda *a: machine_cut_off(*a, seconds=40),
}
SHORT = ("leader without followers", "machine cut off for 12 s")


def run(programs, folder, results, whole, only=None):
    """Restarts this file in private namespaces, whose networks end with it."""
    names = [name for name in (CASES if whole or only else SHORT) if only in (None, name)]
    if not names:
        return
    arguments = {"build": programs.build, "folder": str(folder), "names": names}
    command = ["unshare", "--net", "--mount", "--propagation", "private"] + (
        [] if os.geteuid() == 0 else ["--map-root-user"])
    command += [sys.executable, "-B", str(Path(__file__).resolve()), json.dumps(arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200)
    text = done.stdout.decode()
    reported = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("case ")]
    for name, problems, how in reported:
        results.add("network", name, problems, f"{name}\n{how}")
    for name in set(names) - {name for name, _, _ in reported}:
        results.add("network", name, [f"the case broke down: {text[-2000:]}"], name)


def inside(arguments):
    # Each named namespace is a file below this folder.
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    network = Network()
    programs = fleet.Programs(arguments["build"])
    wrappers = [["nsenter", f"--net=/run/netns/{name}", "--"] for name in NODES]
    for number, name in enumerate(arguments["names"]):
        folder = Path(arguments["folder"]) / f"network{number}"
        world = fleet.World(
            programs, folder, hosts=[f"10.77.1.{n}" for n in (1, 2, 3)], peer_hosts=[f"10.77.2.{n}" for n in (1, 2, 3)],
            wrappers=wrappers)
        try:
            world.start()
            case = CASES[name](world, network)
            problems, how = case.finish(), case.story()
        except Exception as error:  # noqa: BLE001
            problems, how = [f"the case broke down: {type(error).__name__} {error}"], ""
        finally:
            world.end()
        problems += [found for _, findings in fleet.AT_REST for found in findings]
        fleet.AT_REST.clear()
        print("case " + json.dumps([name, problems, how]), flush=True)


if __name__ == "__main__":
    inside(json.loads(sys.argv[1]))
