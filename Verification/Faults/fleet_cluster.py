"""Faults of a cluster: nodes die, hang, run out of space, lose data, are replaced or missing, or belong to another cluster."""

import os
import time

import cluster
import fleet
from cluster import encoded, wait_for


def storm(case, count=20):
    """Starts twenty processes on all machines after the access token has expired. Some of them always request new tokens."""
    case.expire()
    commands = [["whoami", "--max-age", "0"], ["refresh"], ["token"], ["whoami", "--verify"]]
    machines = list(case.machines.values())
    return [machines[n % len(machines)].start(*commands[n % len(commands)]) for n in range(count)]


def exchanges(case):
    return sum(1 for r in list(case.service.requests) if r.path == "/oauth/token" and r.is_forwarded)


def judge_storm(case, programs):
    """All processes must end. Processes that print a name must succeed, and others may time out. At least one process must refresh."""
    for program in programs:
        said = program.wait()
        allowed = {0} if said.command == "whoami --max-age 0" else {0, 69, 75}
        case.expect(said.status in allowed, f"in a storm {said.command} ended with {said.status}: {said.text}")
    case.expect(exchanges(case) >= 2, "no process has refreshed")


def during_storm(world, act, count=20, rounds=1, namespaces=None):
    """Changes the cluster during exchanges. `act` returns the function that repairs the cluster."""
    case = fleet.Case(world, "ABC", name="storm", namespaces=namespaces).sign_in()
    # Leases that could not be released while the store did not respond expire later.
    case.may_leave_leases = True
    for _ in range(rounds):
        before = exchanges(case)
        programs = storm(case, count)
        wait_for("somebody refreshes", lambda: exchanges(case) > before or all(p.said for p in programs))
        restore = act(world.cluster)
        for program in programs:
            program.wait()
        if restore:
            restore()
        world.cluster.wait()
        judge_storm(case, programs)
    return case


def kill_leader(nodes):
    leader = nodes.leader()
    nodes.kill(leader)
    return lambda: nodes.start(leader)


def pause_leader(nodes):
    leader = nodes.leader()
    nodes.pause(leader)
    return lambda: nodes.resume(leader)


def pause_follower(nodes):
    follower = next(index for index in nodes.running() if index != nodes.leader())
    nodes.pause(follower)
    return lambda: nodes.resume(follower)


def restart_all(nodes):
    for index in range(3):
        nodes.kill(index)
    for index in range(3):
        nodes.start(index)
    return None


def replace_member(nodes):
    """Replaces a node that was lost with its disk."""
    index = next(index for index in nodes.running() if index != nodes.leader())
    member = nodes.status(index)["header"]["member_id"]
    nodes.kill(index)
    cluster.remove(nodes.data(index))
    nodes.control("member", "remove", f"{member:x}")
    # The request is refused until all other members are known to be healthy.
    wait_for("a member can be added", lambda: nodes.control(
        "member", "add", nodes.names[index], f"--peer-urls=http://{nodes.peers[index]}", check=False).returncode == 0)
    nodes.start(index, state="existing")
    return None


def compaction_while_kept(world):
    """etcd compacts changes that a machine has not received yet, so the machine reads the account again."""
    case = fleet.Case(world, "ABC", name="keep").sign_in()
    files = {name: case.folder / f"{name}.token" for name in "BC"}
    keepers = [case.machines[name].start("keep", "--file", str(files[name])) for name in "BC"]
    wait_for("the files are there", lambda: all(file.exists() for file in files.values()))
    first = files["B"].read_text()
    # One machine is cut off while the tokens change twice and the history is compacted.
    case.machines["B"].proxy.cut = True
    for _ in range(2):
        said = case.a.run("refresh")
        case.expect(said.status == 0, f"a refresh failed: {said.status} {said.text}")
    case.collect()
    world.cluster.control("compaction", str(world.cluster.revision()))
    case.machines["B"].proxy.cut = False
    said = case.a.run("refresh")
    case.expect(said.status == 0, f"a refresh failed after a compaction: {said.status} {said.text}")
    newest = case.exchanges()[-1].access
    try:
        wait_for("all files have the newest token", lambda: all(
            file.exists() and file.read_text() == newest for file in files.values()))
    except RuntimeError as error:
        case.problems.append(str(error))
    case.expect(first != newest, "nothing was changed")
    for keeper in keepers:
        keeper.process.terminate()
        # It must end by that signal.
        keeper.is_interrupted = True
    case.expect([keeper.wait().status for keeper in keepers] in ([-15, -15], [0, 0]), "a keeper did not end as it should")
    return case


def clock(world, offset):
    """The clock of one machine is an hour off, and the user stays signed in. Each machine uses its own clock, so this machine and
    the next one may request another token. `doctor` explains why.
    """
    case = fleet.Case(world, "ABC", name="clock").sign_in()
    case.machines["B"].variables = {"LD_PRELOAD": world.programs.shim, "FAULTS_CLOCK": str(offset)}
    rounds = 4
    for _ in range(rounds):
        for machine in case.machines.values():
            for command in (["token"], ["whoami", "--max-age", "0"]):
                said = machine.run(*command)
                case.expect(said.status == 0, f"{command} on {machine.name} ended with {said.status}: {said.text}")
    count = exchanges(case) - 1
    case.expect(count <= 2 * rounds, f"{count} refreshes without need")
    if offset > 0:
        case.expect(count >= 1, "no token has expired by the clock that is ahead")
    case.machines["B"].variables = {}
    return case


def foreign(world):
    """Another app has the same prefix: its keys are not changed, and a key that is not an account is not treated as an account."""
    case = fleet.Case(world, "AB", name="foreign")
    keys = {f"{case.prefix}/account/other/lock": b"1", f"{case.prefix}/account/default/Thing": b"2",
            f"{case.prefix}0": b"3", f"{case.prefix}/accounts/default/Account.plist": b"4"}
    for key, value in keys.items():
        world.cluster.gateway("/v3/kv/put", {"key": encoded(key), "value": encoded(value)})
    case.sign_in()
    case.expect(case.machines["B"].run("whoami").text == "alice", "another machine does not know who is signed in")
    account = encoded(f"{case.prefix}/account/default/Account.plist")
    case.is_removed_by_hand = True
    stored = world.cluster.gateway("/v3/kv/range", {"key": account})["kvs"][0]["value"]
    world.cluster.gateway("/v3/kv/put", {"key": account, "value": encoded("theirs")})
    for command in (["whoami"], ["refresh"], ["token"], ["status"]):
        said = case.machines["B"].run(*command)
        case.expect(said.status == 65, f"{command} with an entry that is not an account ended with {said.status}: {said.text}")
    now = world.cluster.gateway("/v3/kv/range", {"key": account})["kvs"][0]["value"]
    case.expect(now == encoded("theirs"), "an entry that is not an account was overwritten")
    # Put a foreign key, which is never released, in place of the lock. The command must soon report it.
    world.cluster.gateway("/v3/kv/put", {"key": account, "value": stored})
    lock = encoded(f"{case.prefix}/account/default/.lock")
    world.cluster.gateway("/v3/kv/put", {"key": lock, "value": encoded("theirs")})
    said = case.machines["B"].run("refresh")
    case.expect(said.status == 75 and "theirs" in said.text, f"a lock that is never released: {said.status} {said.text}")
    world.cluster.gateway("/v3/kv/deleterange", {"key": lock})
    for key, value in keys.items():
        kvs = world.cluster.gateway("/v3/kv/range", {"key": encoded(key)}).get("kvs", [{}])
        case.expect(kvs[0].get("value") == encoded(value), f"{key} is not what it was")
    # These problems come from the keys that this test has written.
    case.expected_problems = ["unreadable:", "gap", "fork"]
    return case


def no_store(world, store, status, says):
    """There is no store at the address: the command reports this, writes nothing locally, and does not report a sign-in."""
    case = fleet.Case(world, "A", name="none")
    case.a.variables = {"ACCOUNT_STORE": store}
    commands = [["whoami"], ["status"], ["token"], ["refresh"], ["logout"], ["sessions"]]
    said = [case.a.run(*command) for command in commands] + [case.a.login()]
    for one in said:
        case.expect(one.status == status, f"{one.command} ended with {one.status}, not {status}: {one.text}")
        case.expect(says in one.text, f"{one.command} does not say \"{says}\": {one.text}")
        case.expect("not signed in" not in one.text.lower(), f"{one.command} says: {one.text}")
        case.expect(one.ended - one.began < 30, f"{one.command} took {one.ended - one.began:.0f} s")
    case.expect(exchanges(case) == 0, "the service was asked although nothing can be stored")
    left = [p for p in case.a.home.rglob("*") if p.is_file() and p.name in ("Account.plist", "SignOut.plist")]
    case.expect(not left, f"there is {left}")
    return case


def quorum_lost(world):
    """Two of three nodes are gone: a machine with a replica still returns a valid token. All other commands wait, and report this."""
    nodes = world.cluster
    case = fleet.Case(world, "ABC", name="quorum").sign_in()
    token = case.machines["B"].run("token").text
    for index in (0, 1):
        nodes.kill(index)
    for command, machine, status, says in (
            (["whoami"], "B", 0, "alice"), (["token"], "B", 0, token), (["status"], "B", 0, "cannot be reached"),
            (["refresh"], "B", 75, "cannot be reached"), (["logout"], "B", 75, "cannot be reached"),
            (["whoami"], "C", 75, "cannot be reached"), (["token"], "C", 75, "cannot be reached"),
            (["status"], "C", 75, "cannot be reached"), (["logout"], "C", 75, "cannot be reached"),
            (list(case.machines["C"].login_arguments("bob")), "C", 75, "cannot be reached")):
        said = case.machines[machine].run(*command, user="bob" if command[0] == "login" else None)
        case.expect(
            said.status == status and says in said.text,
            f"without a quorum {said.command} on {machine} ended with {said.status}: {said.text}")
    case.expect(exchanges(case) == 1, "the service was asked although nothing can be stored")
    for index in (0, 1):
        nodes.start(index)
    nodes.wait()
    return case


def no_space(programs, folder):
    """The cluster has used up its quota: the command reports this, spends and loses no token, and succeeds later."""
    world = fleet.World(programs, folder, options=["--quota-backend-bytes", str(3 << 20)]).start()
    nodes = world.cluster
    try:
        case = fleet.Case(world, "AB", name="full").sign_in()
        ballast = encoded(bytes(200_000))
        for _ in range(100):
            try:
                nodes.gateway("/v3/kv/put", {"key": encoded("ballast"), "value": ballast})
            except RuntimeError:
                break
        wait_for("the alarm", lambda: "NOSPACE" in nodes.control("alarm", "list").stdout)
        before = exchanges(case)
        case.expire()
        for arguments, user, statuses in (
                (["refresh"], None, (74, 75)), (case.a.login_arguments("bob"), "bob", (74, 75)), (["logout"], None, (74, 75))):
            said = case.a.run(*arguments, user=user)
            case.expect(said.status in statuses, f"{said.command} ended with {said.status}: {said.text}")
            case.expect("space" in said.text, f"{said.command} does not name the cause: {said.text}")
        said = case.machines["B"].run("whoami", "--max-age", "0")
        case.expect(
            said.status == 0 and any(line.startswith("alice") for line in said.text.splitlines()),
            f"whoami: {said.status} {said.text}")
        case.expect(exchanges(case) == before, "a token or password was sent although the result cannot be stored")
        case.collect()
        nodes.control("compaction", str(nodes.revision()))
        for index in range(3):
            nodes.control("defrag", nodes=[index], timeout=120)
        nodes.control("alarm", "disarm")
        wait_for("etcd accepts a write again", lambda: nodes.control("put", "ready", "1", check=False).returncode == 0)
        said = case.machines["B"].run("whoami", "--max-age", "0")
        case.expect(said.status == 0 and said.text == "alice", f"after the repair: {said.status} {said.text}")
        return case.finish(), case.story()
    finally:
        world.end()


def full_disk(programs, folder):
    """The disk of one node is full, which ends that node. The other nodes continue, and the node returns when there is space again."""
    name = folder / "disk"
    unshare = ["unshare", "--mount", "--propagation", "private"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    script = f'mkdir -p "{name}" && mount -t tmpfs -o size=260m,mode=0700 tmpfs "{name}" && exec "$@"'
    world = fleet.World(programs, folder, wrappers=[[], [], [*unshare, "sh", "-c", script, "sh"]])
    nodes = world.cluster
    nodes.data = lambda index: (name if index == 2 else nodes.folder) / nodes.names[index]
    try:
        world.start()
        case = fleet.Case(world, "ABC", name="disk").sign_in()
        # The mount as seen from outside of the node's namespace.
        inside = f"/proc/{nodes.processes[2].pid}/root{name}"
        programs_ = storm(case)
        with open(f"{inside}/ballast", "wb", buffering=0) as ballast:
            try:
                while ballast.write(bytes(1 << 20)):
                    pass
            except OSError:
                pass
        for program in programs_:
            program.wait()
        judge_storm(case, programs_)
        # The log grows in pieces of 64 MB. All writes fit until a new piece is necessary, for which there is no space.
        value = encoded(bytes(1_000_000))
        for number in range(140):
            if nodes.processes[2].poll() is not None:
                break
            nodes.gateway("/v3/kv/put", {"key": encoded(f"ballast{number % 4}"), "value": value})
        ended = nodes.processes[2].poll() is not None
        case.expect(ended, "the node has not noticed")
        programs_ = storm(case)
        for program in programs_:
            program.wait()
        judge_storm(case, programs_)
        if not ended:
            nodes.kill(2)
        nodes.processes[2] = None
        return case.finish(), case.story()
    finally:
        world.end()


def real_time(world):
    """Leases expire in real time: the holder is stopped for that long while another machine waits for them."""
    case = fleet.Case(world, "AB", name="time").sign_in()
    held = {}

    def at_service(request):
        if request.path != "/oauth/token" or "began" in held:
            return None
        held["began"] = True
        return lambda proxy, request, forward: (forward(), held["program"].stop())[0]
    case.service_rule = at_service
    held["program"] = case.a.start("refresh")
    wait_for("it is stopped", lambda: held["program"].is_interrupted)
    began = time.monotonic()
    said = case.machines["B"].run("token")
    # The command waits for 5 s, and must not wait until the lease expires after 75 s.
    case.expect(said.status == 0 and time.monotonic() - began < 60, f"a valid token was not returned: {said.text}")
    said = case.machines["B"].run("refresh")
    seconds = time.monotonic() - began
    # The command must not wait until its own time limit of 150 s.
    case.expect(seconds < 140, f"the other waited for {seconds:.0f} s")
    case.expect(said.status in (0, 77), f"the other: {said.status} {said.text}")
    held["program"].go_on()
    return case


def jobs(programs, folder, common, results, whole, only=None):
    """The cases, each independent: on its own cluster, or on a cluster that stays healthy."""
    def own(function):
        def body(name):
            world = fleet.World(programs, folder / name.replace(" ", "-"))
            try:
                world.start()
                return judged(function(world))
            finally:
                world.end()
        return body

    def shared(function):
        return lambda name: judged(function(common))

    def alone(function):
        return lambda name: function(programs, folder / name.replace(" ", "-"))
    rounds = 4 if whole else 1
    work = {
        "no quorum": shared(lambda world: no_store(
            world, f"etcd://127.0.0.1:{cluster.free_port()}/app", 75, "cannot be reached")),
        "quorum lost": own(quorum_lost),
        "leader killed": own(lambda world: during_storm(world, kill_leader, rounds=rounds)),
        "leader paused": own(lambda world: during_storm(world, pause_leader, rounds=rounds)),
        "compaction": own(compaction_while_kept),
        "quota used up": alone(no_space),
        "clock ahead": shared(lambda world: clock(world, 3600)),
        "unknown scheme": shared(lambda world: no_store(world, "redis://127.0.0.1:6379/app", 64, "etcd://"))}
    if whole or only:
        work |= {
            "restarted": own(lambda world: during_storm(world, restart_all, rounds=rounds)),
            "member replaced": own(lambda world: during_storm(world, replace_member)),
            "follower paused": own(lambda world: during_storm(world, pause_follower, rounds=rounds)),
            "foreign keys": shared(foreign), "clock behind": shared(lambda world: clock(world, -3600)),
            "no etcd": shared(lambda world: no_store(world, f"etcd://127.0.0.1:{world.service[1]}/app", 75, "etcd")),
            "disk full": alone(full_disk), "real time": shared(real_time)}

    def job(name, function):
        def body():
            try:
                problems, how = function(name)
            except Exception as error:  # noqa: BLE001
                problems, how = [f"the case broke down: {type(error).__name__} {error}"], ""
            results.add("cluster", name, problems, f"{name}\n{how}")
        return body
    return [job(name, function) for name, function in work.items() if only in (None, name)]


def judged(case):
    problems = case.finish()
    return [p for p in problems if not p.startswith(tuple(case.expected_problems))], case.story()
