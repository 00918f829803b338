"""The history of a session that machines share, and the names of the rules that it violates.

The evidence is what the service received, what etcd stored and when, and what each program printed. The stored archives are
read by a reader that was written from the documentation alone (`Tests/ReaderTests/read_account.py`).
"""

import copy
import plistlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Tests/ReaderTests"))
import read_account  # noqa: E402

# Keys that exist only during an operation; their names follow a dot.
TRANSIENT = ("lock", "refresh", "reserved", "wait")


class Exchange:
    """A request to the token endpoint. `token` was exchanged for `new`; a sign-in exchanges no token."""

    def __init__(self, began, token, status=None, new=None, who=None, ended=None, error=None, is_answered=True):
        self.began, self.token, self.status, self.new, self.who = began, token, status, new, who
        self.ended = began if ended is None else ended
        self.error, self.is_answered = error, is_answered


class Commit:
    """A change in etcd: the entries that were written (their bytes) or removed (`None`), and the earliest and latest possible time of the
    change.
    """

    def __init__(self, revision, entries, locks=("lock",), began=None, ended=None, account=None):
        self.revision, self.entries, self.locks, self.began, self.ended = revision, entries, set(locks), began, ended
        # The content of a written account: the refresh token, the store's identifier and the generation.
        self.account = account


class Account:
    def __init__(self, token, generation, store="store", user="alice"):
        self.token, self.generation, self.store, self.user = token, generation, store, user


class Said:
    """A program: its command and its output."""

    def __init__(self, who, command, status, began, ended, machine="A", text=""):
        self.who, self.command, self.status, self.began, self.ended = who, command, status, began, ended
        self.machine, self.text = machine, text


class History:
    def __init__(self):
        self.exchanges, self.commits, self.said = [], [], []
        # Refresh tokens of active sign-ins at the service, and those in the revocation queue.
        self.live, self.queued, self.alarms = set(), set(), 0
        # Programs that were killed, stopped or cut off, and those of them that could no longer store anything.
        self.interrupted, self.dead = set(), set()
        # The final state of each machine, the revision of its replica, and the remaining locks.
        self.found, self.replicas, self.left = {}, {}, []
        # Whether the test itself, and no program, has removed the account.
        self.is_removed_by_hand = False

    # MARK: The rules

    def violations(self):
        found = []
        for rule in (self.sends, self.stores, self.losses, self.words, self.ends):
            found += rule()
        return found

    def sends(self):
        """No refresh token is sent twice, unless its first sender was interrupted and an intent is recorded."""
        found, sent = [], {}
        for exchange in sorted((e for e in self.exchanges if e.token), key=lambda e: e.began):
            for first in sent.get(exchange.token, []):
                # A token that the service refused was not spent.
                if first.status not in (200, None):
                    continue
                is_interrupted = first.who in self.interrupted or not first.is_answered
                if not is_interrupted:
                    found.append(f"sent twice: the first sender, {first.who}, was not interrupted")
                elif not self.has_intent(first, exchange):
                    found.append("sent twice: no record of an intent explains it")
            sent.setdefault(exchange.token, []).append(exchange)
        explained = sum(
            1 for sends in sent.values() for first, later in zip(sends, sends[1:])
            if first.status == 200 or first.status is None)
        if self.alarms > explained:
            found.append(f"reuse alarm: {self.alarms} at the service, {explained} explained")
        elif self.alarms and not self.interrupted and all(e.is_answered for e in self.exchanges):
            found.append("reuse alarm: no program was interrupted")
        return found

    def has_intent(self, first, second):
        """Whether a record of the first exchange was stored when it began, and was kept until the second began."""
        record = None
        for commit in self.commits:
            if "Refresh.plist" not in commit.entries:
                continue
            # The latest possible time: a change that may follow the second exchange proves nothing.
            if commit.began is not None and commit.began > second.began:
                break
            if commit.entries["Refresh.plist"] is None:
                # The earliest possible time.
                if commit.ended is None or commit.ended > first.began:
                    return False
                record = None
            else:
                record = commit
        return record is not None

    def successors(self, token):
        return [e.new for e in self.exchanges if e.token == token and e.status == 200 and e.new]

    def distance(self, old, new):
        """The number of exchanges from one token to the other, or `None`."""
        near, steps, seen = {old}, 0, {old}
        while near:
            steps += 1
            near = {s for token in near for s in self.successors(token)} - seen
            if new in near:
                return steps
            seen |= near
        return None

    def stores(self):
        """Generations have no gap or fork, each change is made by a holder of the lock, and no earlier content returns."""
        found, current, stored = [], None, []
        signed_in = {e.new for e in self.exchanges if e.token is None and e.status == 200}
        for token in {e.token for e in self.exchanges if e.token}:
            if len(set(self.successors(token))) > 1:
                found.append("fork at the service: one token was exchanged for two")
        for commit in self.commits:
            written = [name for name in commit.entries if not name.lstrip(".").startswith(TRANSIENT)]
            if written and not commit.locks and not self.is_removed_by_hand:
                found.append(f"change without the lock: {written} at {commit.revision}")
            if "Account.plist" not in commit.entries:
                continue
            if commit.entries["Account.plist"] is None:
                found += self.removal_problems(commit, current)
                current = None
                continue
            new = commit.account
            if new is None:
                found.append(f"unreadable: the account stored at {commit.revision}")
                continue
            steps = self.distance(current.token, new.token) if current else None
            is_sign_in = new.token in signed_in and new.token not in stored
            if current and current.token == new.token:
                pass
            elif is_sign_in:
                pass
            elif current is None:
                found.append(f"stored after a sign-out: at {commit.revision}")
            elif new.token in stored:
                found.append(f"old account stored again: at {commit.revision}, as from a replica")
            elif steps is None:
                found.append(f"fork: the account stored at {commit.revision} does not follow from the previous one")
            elif steps > 1:
                found.append(f"gap: {steps} exchanges between the account stored at {commit.revision} and the previous one")
            if current and current.store == new.store and new.generation != current.generation + 1:
                kind = "gap" if new.generation > current.generation else "fork"
                found.append(f"{kind} of generations: {new.generation} after {current.generation} at {commit.revision}")
            current = new
            stored.append(new.token)
        self.current = current
        return found

    def removal_problems(self, commit, current):
        """An account is removed only by a sign-out, by a sign-in, or because the service rejected its token."""
        before = commit.ended if commit.ended is not None else float("inf")
        if self.is_removed_by_hand or any(s.command.startswith("logout") and s.began <= before for s in self.said):
            return []
        if current is None or any(
                e.token == current.token and e.error == "invalid_grant" and e.began <= before for e in self.exchanges):
            return []
        return [f"signed out for nothing: at {commit.revision}"]

    def losses(self):
        """Tokens that the service issued to an undisturbed program are stored or revoked."""
        found = []
        stored = {c.account.token for c in self.commits if c.account}
        for exchange in self.exchanges:
            if exchange.status != 200 or not exchange.new or not exchange.is_answered:
                continue
            if exchange.who in self.dead or exchange.new in stored:
                continue
            if exchange.new not in self.live or exchange.new in self.queued:
                continue
            kind = "lost refresh" if exchange.token else "lost sign-in"
            said = next((s for s in self.said if s.who == exchange.who), None)
            if not exchange.token and said and said.status != 0:
                # The program reported this, but the tokens are still valid.
                kind = "orphan of a sign-in"
            found.append(f"{kind}: tokens that the service issued to {exchange.who} were neither stored nor revoked")
        for said in self.said:
            if not said.command.startswith("login") or said.status != 0:
                continue
            tokens = [e.new for e in self.exchanges if e.who == said.who and e.token is None and e.status == 200]
            if tokens and not any(token in stored for token in tokens):
                found.append(f"lost sign-in: {said.who} reported a sign-in")
        current = getattr(self, "current", None)
        if current and not self.dead and self.successors(current.token):
            found.append("lost refresh: the token that is stored at the end is spent")
        return found

    def words(self):
        """A program reports "not signed in" only if that was true at a moment during its run."""
        absences, since = [], float("-inf")
        for commit in self.commits:
            if "Account.plist" not in commit.entries:
                continue
            if commit.entries["Account.plist"] is None:
                since = commit.began if commit.began is not None else float("-inf")
            elif since is not None:
                absences.append((since, commit.ended if commit.ended is not None else float("inf")))
                since = None
        if since is not None:
            absences.append((since, float("inf")))
        found = []
        for said in self.said:
            if said.status == 77 and not any(start <= said.ended and said.began <= end for start, end in absences):
                found.append(f"reported a sign-out: {said.who} ({said.command}) while signed in: {said.text[:200]}")
        return found

    def ends(self):
        """In the end all machines have the same account, and no lock is held."""
        found = []
        if len(set(self.found.values())) > 1:
            found.append(f"machines differ: {self.found}")
        last = next((c for c in reversed(self.commits) if "Account.plist" in c.entries), None)
        for machine, replica in self.replicas.items():
            expected = last.revision if last and last.entries["Account.plist"] is not None else None
            if replica != expected:
                found.append(f"replica differs: {machine} has revision {replica}, the store has {expected}")
        if self.left:
            found.append(f"left behind: {self.left}")
        return found


def commits(changes, requests, keys, place):
    """Groups changes by revision, reads the accounts, and determines the time of each change from the requests."""
    times = {}
    for request in requests:
        if request.status == 200 and request.path in ("/v3/kv/txn", "/v3/lease/revoke"):
            revision = int(request.json().get("header", {}).get("revision", 0))
            began, ended = times.get(revision, (float("-inf"), float("inf")))
            times[revision] = (max(began, request.began), min(ended, request.ended))
    found = {}
    for change in changes:
        session, _, entry = change.key.rpartition("/")
        if not session.endswith("default"):
            continue
        began, ended = times.get(change.revision, (None, None))
        commit = found.setdefault(change.revision, Commit(change.revision, {}, (), began, ended))
        commit.entries[entry] = None if change.is_deletion else change.value
        if entry.lstrip(".").startswith("lock") and not change.is_deletion:
            commit.locks.add(change.create_revision)
        if entry == "Account.plist" and not change.is_deletion:
            commit.account = read(change.value, keys, place)
    return [found[revision] for revision in sorted(found)]


def read(value, keys, place):
    for key in keys:
        try:
            account, tokens, envelope = read_account.read(
                value, read_account.context_of("account", "default"), key, place=place)
            return Account(
                tokens.get("refreshToken", b"").decode(), envelope.generation, envelope.store_id,
                account.get("username", account["id"]))
        except (read_account.Refusal, plistlib.InvalidFileException):
            continue
    return None


# MARK: Testing the checker

def planted():
    """Histories with one mistake each, with the name of the rule that must detect it, and one without a mistake."""
    def base():
        history = History()
        history.exchanges = [
            Exchange(1, None, 200, "t0", "login"), Exchange(10, "t0", 200, "t1", "first", ended=11),
            Exchange(20, "t1", 200, "t2", "second", ended=21)]
        history.commits = [
            Commit(2, {"Account.plist": b""}, began=2, ended=3, account=Account("t0", 1)),
            Commit(4, {"Refresh.plist": b""}, began=8, ended=9),
            Commit(5, {"Account.plist": b""}, began=12, ended=13, account=Account("t1", 2)),
            Commit(6, {"Refresh.plist": None}, began=14, ended=15),
            Commit(7, {"Refresh.plist": b""}, began=18, ended=19),
            Commit(8, {"Account.plist": b""}, began=22, ended=23, account=Account("t2", 3)),
            Commit(9, {"Refresh.plist": None}, began=24, ended=25)]
        history.said = [
            Said("login", "login", 0, 0, 4), Said("first", "refresh", 0, 7, 16), Said("second", "refresh", 0, 17, 26)]
        history.live = {"t0", "t1", "t2"}
        history.found = {"A": "alice 8", "B": "alice 8"}
        history.replicas = {"A": 8, "B": 8}
        return history

    cases = [("", base())]

    def plant(name, change):
        history = copy.deepcopy(base())
        change(history)
        cases.append((name, history))

    def again(interrupted, token="t0"):
        def change(history):
            history.exchanges.append(Exchange(16, token, 400, None, "third", error="invalid_grant"))
            history.interrupted |= interrupted
            history.alarms = 1
        return change

    def interrupted(history):
        # Allowed: the first sender was killed, its intent is recorded, and the second is refused.
        history.exchanges = history.exchanges[:2] + [Exchange(16, "t0", 400, None, "third", error="invalid_grant")]
        history.commits = history.commits[:2] + [Commit(5, {"Account.plist": None}, began=17, ended=18)]
        history.interrupted, history.dead, history.live, history.alarms = {"first"}, {"first"}, set(), 1
        history.said = [history.said[0], Said("third", "whoami", 77, 12, 19)]
        history.found, history.replicas = {"A": "out", "B": "out"}, {"A": None}
    plant("", interrupted)
    plant("sent twice: the first", again(set()))
    plant("sent twice: no record", again({"first"}))
    plant("reuse alarm", lambda h: setattr(h, "alarms", 1))
    plant("fork at", lambda h: h.exchanges.append(Exchange(30, "t1", 200, "t9", "third")))
    plant("fork:", lambda h: setattr(h.commits[5].account, "token", "stranger"))
    plant("gap:", lambda h: h.commits.pop(2))
    plant("gap of generations", lambda h: setattr(h.commits[5].account, "generation", 4))
    plant("fork of generations", lambda h: setattr(h.commits[5].account, "generation", 2))
    plant("old account stored again", lambda h: h.commits.append(
        Commit(10, {"Account.plist": b""}, account=Account("t0", 4))))
    plant("change without the lock", lambda h: h.commits[2].locks.clear())
    plant("lost refresh: tokens", lambda h: (h.commits.pop(5), h.commits.pop(5)))
    plant("lost refresh: the token", lambda h: (h.commits.pop(5), h.live.clear()))
    plant("lost sign-in", lambda h: h.exchanges.append(Exchange(30, None, 200, "b0", "other")) or h.live.add("b0") or h.said.append(
        Said("other", "login", 0, 29, 31)))
    plant("orphan of a sign-in", lambda h: h.exchanges.append(Exchange(30, None, 200, "b0", "other")) or h.live.add("b0") or h.said.append(
        Said("other", "login", 75, 29, 31)))
    plant("signed out for nothing", lambda h: h.commits.append(Commit(10, {"Account.plist": None}, began=30, ended=31)))
    plant("stored after a sign-out", lambda h: (
        h.said.append(Said("out", "logout", 0, 16, 17)),
        h.commits.insert(4, Commit(6, {"Account.plist": None}, began=16, ended=17))))
    plant("reported a sign-out", lambda h: h.said.append(Said("third", "whoami", 77, 12, 19)))
    plant("machines differ", lambda h: h.found.update(C="bob"))
    plant("replica differs", lambda h: h.replicas.update(B=5))
    plant("left behind", lambda h: h.left.append("lock"))
    plant("unreadable", lambda h: setattr(h.commits[5], "account", None))
    return cases


def run(results):
    """Tests the checker on histories with one mistake each."""
    for name, history in planted():
        found = history.violations()
        if name:
            problems = [] if any(f.startswith(name) for f in found) else [f"not noticed: {name}; found: {found}"]
        else:
            problems = [f"a mistake was reported in a correct history: {f}" for f in found]
        results.add("checker", name.rstrip(":") or "(no mistake)", problems, "history.planted()")
