"""At each call of an operation to etcd, changes the call, the program or its leases."""

import random
import re
import threading

import cluster
import fleet
import power_loss

OPERATIONS = {
    # The preparation, the machine, and the text of a success.
    "refresh": (["refresh"], "New tokens"),
    "whoami": (["whoami", "--max-age", "0"], "alice"),
    "logout": (["logout"], "Signed out"),
    "login": (None, "Signed in"),
    # Another user signs in in place of the first.
    "replace": (None, "Signed in"),
}
OTHERS = {
    "nothing": None, "a refresh": ["refresh"], "a sign-out": ["logout"], "a sign-in": ["login"],
}


def begin(world, operation):
    """A case, and the machine of the operation."""
    case = fleet.Case(world, "ABC", name="call")
    # The first machine creates the key, which the other machines then receive.
    case.sign_in()
    if operation == "login":
        case.a.run("logout")
        return case, case.a
    if operation == "whoami":
        case.expire()
    return case, case.machines["B"]


def start(machine, operation):
    if operation in ("login", "replace"):
        user = "alice" if operation == "login" else "bob"
        return machine.start(*machine.login_arguments(user), user=user)
    return machine.start(*OPERATIONS[operation][0])


def positions(world, operation, results):
    """The calls of the operation without faults."""
    case, machine = begin(world, operation)
    count = len(machine.proxy.requests)
    said = start(machine, operation).wait()
    calls = [request.what() for request in machine.proxy.requests[count:] if request.path != "/v3/watch"]
    case.expect(said.status == 0 and OPERATIONS[operation][1] in said.text, f"it failed: {said.status} {said.text}")
    results.add(operation, "nothing", case.finish(), case.story())
    return calls


class Position:
    """The n-th call of a program, counted by the proxy of its machine. `act` happens there. With `kind`, only calls of this kind count."""

    def __init__(self, machine, number, act, kind=None):
        self.machine, self.act, self.kind, self.is_hit = machine, act, kind, False
        self.left, self.what = number, None
        machine.proxy.rule = self.rule

    def rule(self, request):
        if request.path == "/v3/watch" or self.kind not in (None, request.what()):
            return None
        with self.machine.proxy.lock:
            self.left -= 1
            if self.left != 0:
                return None
            self.is_hit, self.what = True, request.what()
        return self.act


def request_cut(proxy, request, forward):
    return None


def response_cut(proxy, request, forward):
    forward()


def unavailable(proxy, request, forward):
    return cluster.answer(503, "Service Unavailable", b"upstream connect error")


def failed_call(world, operation, number, act):
    """One call fails. The program repeats it, and its result is the same."""
    case, machine = begin(world, operation)
    position = Position(machine, number, act)
    said = start(machine, operation).wait()
    case.expect(position.is_hit, "the call was never made")
    case.expect(
        said.status == 0 and OPERATIONS[operation][1] in said.text, f"one call failed, and the program ended with: {said.status} {said.text}")
    return case, position


def killed(world, operation, number, is_late, is_carried_out, other):
    """The program is killed at a call. The call takes effect before that, later, or never."""
    case, machine = begin(world, operation)
    machines = [m for m in case.machines.values() if m is not machine]
    gate = {}

    def act(proxy, request, forward):
        if is_carried_out:
            forward()
        gate["program"].kill()
        if is_late:
            after(case, machines[-1], other, gate)
            forward()
    position = Position(machine, number, lambda *arguments: gate["ready"].wait() and act(*arguments))
    gate["ready"] = threading.Event()
    gate["program"] = start(machine, operation)
    gate["ready"].set()
    gate["program"].wait()
    cluster.wait_for("the call has been dealt with", lambda: not position.is_hit or all(
        r.ended for r in machine.proxy.requests if r.path != "/v3/watch"))
    case.expect(position.is_hit, "the call was never made")
    return case, position


def stopped(world, operation, number, is_carried_out, other, kind=None):
    """The program is stopped at a call for longer than its leases last, while another machine acts. Then it continues."""
    case, machine = begin(world, operation)
    machines = [m for m in case.machines.values() if m is not machine]
    gate = {"ready": threading.Event()}

    def act(proxy, request, forward):
        gate["ready"].wait()
        response = forward() if is_carried_out else None
        gate["program"].stop()
        after(case, machines[-1], other, gate)
        response = response or forward()
        gate["program"].go_on()
        return response
    position = Position(machine, number, act, kind)
    gate["program"] = start(machine, operation)
    gate["ready"].set()
    said = gate["program"].wait()
    case.expect(position.is_hit, "the call was never made")
    if other == "nothing":
        # No other program was involved.
        case.expect(said.status in (0, 75), f"the program was stopped for a while, and ended with: {said.status} {said.text}")
    return case, position


def stopped_at_service(world, operation, is_head, other):
    """The program is stopped before it sends its token: while it requests the discovery document, or when the service has received the head
    of the token request but not the body. Its leases end, another machine acts, and then the program continues.
    """
    case, machine = begin(world, operation)
    machines = [m for m in case.machines.values() if m is not machine]
    gate = {"ready": threading.Event(), "is_hit": False}

    def stop():
        gate["is_hit"] = True
        gate["ready"].wait()
        gate["program"].stop()
        after(case, machines[-1], other, gate)

    def at_discovery(request):
        if gate["is_hit"] or is_head or "/.well-known/" not in request.path:
            return None
        stop()
        gate["program"].go_on()
        return None

    def at_head(head):
        if gate["is_hit"] or not is_head or not head.startswith(b"POST /oauth/token "):
            return
        stop()
        gate["program"].go_on()
    case.service_rule, case.service.head_rule = at_discovery, at_head
    gate["program"] = start(machine, operation)
    gate["ready"].set()
    said = gate["program"].wait()
    case.expect(gate["is_hit"], "the program never sent that request")
    # Another machine has refreshed the tokens: the program adopts them, or asks the user to try again.
    case.expect(said.status in (0, 69, 75, 77), f"the program ended with {said.status}: {said.text}")
    return case, Reached("head of the token request" if is_head else "discovery")


class Reached:
    """The place where the program was stopped, for the report."""

    def __init__(self, what):
        self.what = what


def after(case, machine, other, gate):
    """Expires all leases, and runs a command on another machine."""
    world = case.world
    world.cluster.revoke(world.cluster.leases_below(f"{case.prefix}/account/"))
    if other == "a sign-in":
        # Sign in another user: a second sign-in of the same user has two grants, and revoking one would end both.
        said = machine.login("bob" if "bob" not in " ".join(gate["program"].arguments) else "alice")
        case.expect(said.status == 0, f"the sign-in on another machine failed: {said.status} {said.text}")
    elif OTHERS[other]:
        said = machine.run(*OTHERS[other])
        case.expect(said.status in (0, 77), f"{other} on another machine failed: {said.status} {said.text}")


def cases(calls, operation):
    """One of each kind of call, with each fault."""
    kinds, numbers = set(), []
    for number, call in enumerate(calls, 1):
        # The slots of a queue are read one after the other.
        kind = (re.sub(r"-[2-8]\.plist", "-n.plist", call), calls[:number].count(call))
        if kind not in kinds:
            numbers.append(number)
        kinds.add(kind)
    for number in numbers:
        yield "request cut", failed_call, (number, request_cut)
        yield "response cut", failed_call, (number, response_cut)
        yield "503", failed_call, (number, unavailable)
        for is_carried_out in (False, True):
            yield "killed", killed, (number, False, is_carried_out, "nothing")
        for other in OTHERS:
            yield f"late, after {other}", killed, (number, True, False, other)
            for is_carried_out in (False, True):
                yield f"stopped, {other} in between", stopped, (number, is_carried_out, other)


def jobs(world, results, whole, only=None):
    """The cases, each of which is independent."""
    random_ = random.Random(power_loss.SEED)
    count = 80 if whole else 7
    work = []
    for operation in OPERATIONS:
        if only in (None, operation):
            calls = positions(world, operation, results)
            all_ = list(cases(calls, operation))
            work += [(operation, *one) for one in random_.sample(all_, min(count, len(all_)))]
            if operation == "refresh":
                # Always include the moment between recording the intent and sending the token.
                work.append((operation, "stopped before sending", stopped, (1, True, "a refresh", "lease/revoke")))
                for is_head in (False, True):
                    words = "stopped when connected" if is_head else "stopped in discovery"
                    work.append((operation, words, stopped_at_service, (is_head, "a refresh")))

    def job(operation, fault, function, arguments):
        def body():
            words = f"{operation}, {fault}: {function.__name__}{arguments}"
            try:
                case, position = function(world, operation, *arguments)
                problems = case.finish()
                results.add(operation, fault, problems, f"{words} at {position.what}\n{case.story()}")
            except Exception as error:  # noqa: BLE001
                results.add(operation, fault, [f"the case broke down: {type(error).__name__} {error}"], words)
        return body
    return [job(*item) for item in work]
