"""Mistakes that AccountKit does not make. The proxy between a machine and etcd makes them on purpose, and the rule for each mistake must
detect it.
"""

import base64
import json

import cluster
import fleet
from cluster import wait_for


def key_of(part):
    return base64.b64decode(part.get("key", "")).decode().rsplit("/", 1)[-1]


def entries(operations):
    return [key_of(next(iter(operation.values()))) for operation in operations]


def commits_account(request):
    return request.path == "/v3/kv/txn" and "Account.plist" in entries(json.loads(request.body)["success"])


def without_fence(request, keeps_revision):
    """The same change without comparing the locks and, unless `keeps_revision`, without comparing the revision."""
    call = json.loads(request.body)
    call["compare"] = [c for c in call["compare"] if keeps_revision and key_of(c) == "Account.plist"]
    call["success"] = [o for o in call["success"] if entries([o])[0] == "Account.plist"]
    request.body = json.dumps(call).encode()


def late_change(world, other, keeps_revision):
    """A change that arrives after its sender's lease was lost and still takes effect."""
    case = fleet.Case(world, "ABC", name="mistake").sign_in()
    b, gate = case.machines["B"], {}

    def act(proxy, request, forward):
        gate["is_hit"] = True
        gate["program"].kill()
        world.cluster.revoke(world.cluster.leases_below(f"{case.prefix}/account/"))
        if other:
            case.expect(case.machines["C"].login(other).status == 0, "the sign-in on another machine failed")
        without_fence(request, keeps_revision)
        forward()
        gate["is_done"] = True
    b.proxy.rule = lambda request: act if commits_account(request) and "is_hit" not in gate else None
    gate["program"] = b.start("refresh")
    wait_for("the change was made", lambda: "is_done" in gate)
    return case


def no_compare(world):
    return late_change(world, "bob", keeps_revision=False)


def no_fence(world):
    return late_change(world, None, keeps_revision=True)


def lease_not_kept(world):
    """A lease expires although its holder is alive and connected to etcd."""
    case = fleet.Case(world, "ABC", name="mistake").sign_in()
    gate = {}

    def at_service(request):
        if request.path != "/oauth/token" or gate:
            return None
        gate["is_hit"] = True

        def act(proxy, request, forward):
            response = forward()
            world.cluster.revoke(world.cluster.leases_below(f"{case.prefix}/account/"))
            case.machines["C"].run("refresh")
            return response
        return act
    case.service_rule = at_service
    case.machines["B"].run("refresh")
    return case


def stale_reads(world):
    """A machine receives old content, as from a node that does not consult the others."""
    case = fleet.Case(world, "ABC", name="mistake").sign_in()
    c, kept = case.machines["C"], {}
    c.run("whoami")
    for request in c.proxy.requests:
        if request.what() == "kv/range Account.plist":
            kept["response"] = request.response

    def stale(proxy, request, forward):
        return cluster.answer(200, "OK", kept["response"])

    def stale_with_lock(proxy, request, forward):
        """The same for the content that comes with the lock."""
        said = json.loads(cluster.content(forward()))
        for part in said.get("responses", []):
            found = part.get("response_range", {}).get("kvs", [])
            found[:] = [kept_account if key_of(one) == "Account.plist" else one for one in found]
        return cluster.answer(200, "OK", json.dumps(said).encode())
    kept_account = json.loads(kept["response"])["kvs"][0]
    case.machines["B"].run("refresh")
    rules = {"kv/range Account.plist": stale, "kv/txn .lock 0": stale_with_lock}
    c.proxy.rule = lambda request: rules.get(request.what())
    c.run("refresh")
    return case


def lost_write(world):
    """A change is confirmed but was never made."""
    case = fleet.Case(world, "ABC", name="mistake").sign_in()
    b = case.machines["B"]

    def lie(proxy, request, forward):
        operations = json.loads(request.body)["success"]
        results = [{"response_put": {"header": {"revision": "1"}}} for _ in operations]
        header = {"revision": str(world.cluster.revision())}
        return cluster.answer(200, "OK", json.dumps(
            {"header": header, "succeeded": True, "responses": results}).encode())
    b.proxy.rule = lambda request: lie if commits_account(request) else None
    b.run("refresh")
    return case


def nothing_there(world):
    """A machine receives the response that nothing is stored."""
    case = fleet.Case(world, "ABC", name="mistake").sign_in()

    def nothing(proxy, request, forward):
        return cluster.answer(200, "OK", json.dumps({"header": {"revision": str(world.cluster.revision())}}).encode())
    case.machines["C"].proxy.rule = lambda request: nothing if request.what() == "kv/range Account.plist" else None
    case.machines["C"].run("whoami")
    return case


def lock_kept(world):
    """A holder does not release its lock."""
    case = fleet.Case(world, "ABC", name="mistake").sign_in()
    b = case.machines["B"]
    b.proxy.rule = lambda request: (
        lambda proxy, request, forward: cluster.answer(200, "OK", b'{"header":{"revision":"1"}}')
    ) if request.path == "/v3/lease/revoke" else None
    b.run("logout", "--local")
    return case


MISTAKES = {
    "no compare": (no_compare, "fork:"), "no fence": (no_fence, "change without the lock"),
    "lease not kept alive": (lease_not_kept, "sent twice: the first"), "stale reads": (stale_reads, "sent twice: the first"),
    "a write that is lost": (lost_write, "lost refresh"), "nothing there": (nothing_there, "reported a sign-out"),
    "lock not released": (lock_kept, "left behind"),
}


def jobs(world, results, only=None):
    def job(name, function, wanted):
        def body():
            try:
                case = function(world)
                found = case.finish(refresh=False)
                problems = [] if any(f.startswith(wanted) for f in found) else [
                    f"it was not noticed as \"{wanted}\": {found}"]
                results.add("mistake", name, problems, case.story())
            except Exception as error:  # noqa: BLE001
                results.add("mistake", name, [f"the case broke down: {type(error).__name__} {error}"], name)
        return body
    return [job(name, *rest) for name, rest in MISTAKES.items() if only in (None, name)]
