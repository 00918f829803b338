"""Random lives of a session: programs act concurrently on three machines, over a network with losses and delays, and some of them are
killed. The same seed gives the same life, except for the effects of the machine's scheduler.
"""

import base64
import contextlib
import functools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import cluster
import fleet
from cluster import encoded

ROUNDS = 6


class Life:
    def __init__(self, world, seed):
        self.world, self.random = world, random.Random(seed)
        self.case = fleet.Case(world, "ABC", name="life").sign_in()
        self.user = "alice"
        for name, machine in self.case.machines.items():
            machine.proxy.rule = self.rule_for(random.Random(f"{seed} {name}"))

    def rule_for(self, random_):
        """Of fifty requests, one is lost, one gets no response, one gets a 503, and ten are delayed."""
        def delayed(seconds):
            def act(proxy, request, forward):
                time.sleep(seconds)
                return forward()
            return act

        def rule(request):
            number = random_.random()
            if request.path == "/v3/watch":
                return None
            if number < 0.06:
                return (
                    lambda proxy, request, forward: None, lambda proxy, request, forward: forward() and None,
                    lambda proxy, request, forward: cluster.answer(503, "Service Unavailable", b"try again"),
                )[int(number * 50)]
            return delayed(number / 5) if number < 0.26 else None
        return rule

    def round(self):
        """Runs a few concurrent programs and kills some of them."""
        case, random_ = self.case, self.random
        if random_.random() < 0.7:
            case.expire()
        programs, has_changed = [], False
        for _ in range(random_.randint(2, 5)):
            machine = case.machines[random_.choice("ABC")]
            number = random_.random()
            if number < 0.12 and not has_changed:
                # Don't sign in the same user again: revoking the replaced sign-in would end the new sign-in.
                self.user, has_changed = ("bob" if self.user == "alice" else "alice"), True
                programs.append(machine.start(*machine.login_arguments(self.user), user=self.user))
            elif number < 0.2:
                programs.append(machine.start("logout"))
            else:
                command = random_.choice((["refresh"], ["whoami", "--max-age", "0"], ["token"], ["whoami"]))
                programs.append(machine.start(*command))
            time.sleep(random_.uniform(0, 0.2))
        for program in programs:
            if random_.random() < 0.2:
                time.sleep(random_.uniform(0, 0.8))
                program.kill()
                self.let_go(program)
        for program in programs:
            said = program.wait()
            if not program.is_killed:
                case.expect(said.status in (0, 69, 75, 77), f"{said.command} ended with {said.status}: {said.text}")
        if not has_changed and random_.random() < 0.3:
            self.user = "bob" if self.user == "alice" else "alice"
            case.machines["A"].login(self.user)

    def let_go(self, program):
        """Expires the leases of a dead process, but not those of other processes."""
        prefix = f"{self.case.prefix}/account/"
        kvs = self.world.cluster.gateway("/v3/kv/range", {
            "key": encoded(prefix), "range_end": encoded(cluster.end_of(prefix))}).get("kvs", [])
        for kv in kvs:
            if f"process {program.process.pid} " in base64.b64decode(kv.get("value", "")).decode("utf-8", "replace"):
                self.world.cluster.revoke([int(kv["lease"])])


def live(world, results, fault, seed, calm=None):
    """Runs a life from its beginning to its end, both of which are without faults."""
    calm, story = calm or contextlib.nullcontext(), ""
    try:
        with calm:
            life = Life(world, seed)
        for _ in range(ROUNDS):
            life.round()
        with calm:
            problems = life.case.finish()
        story = life.case.story()
    except Exception as error:  # noqa: BLE001
        problems = [f"the case broke down: {type(error).__name__} {error}"]
    results.add("life", fault, problems, f"seed {seed}\n{story}")


def jobs(world, results, whole, only=None):
    seeds = range(30 if whole else 2) if only in (None, "life") else []
    if only and only.startswith("life "):
        seeds = [int(only.split()[1])]
    return [functools.partial(live, world, results, "at random", seed) for seed in seeds]


def run(programs, folder, results, whole, only=None):
    """Runs lives on a cluster whose nodes are repeatedly killed or paused; in the long form only."""
    if only not in (None, "restless") or not (whole or only):
        return
    world, over, calm = fleet.World(programs, folder), threading.Event(), threading.Lock()
    nodes, random_ = world.cluster, random.Random(1)

    def disturb():
        while not over.is_set():
            with calm:
                index, is_killed = random_.randrange(3), random_.random() < 0.6
                nodes.kill(index) if is_killed else nodes.pause(index)
                over.wait(random_.uniform(0.5, 4))
                nodes.start(index) if is_killed else nodes.resume(index)
                nodes.wait()
            over.wait(random_.uniform(0.5, 3))
    try:
        world.start()
        disturber = threading.Thread(target=disturb)
        disturber.start()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: live(world, results, "on a restless cluster", seed, calm), range(100, 116)))
        over.set()
        disturber.join()
    finally:
        over.set()
        world.end()
