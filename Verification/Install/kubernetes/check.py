"""Reads the manifests in Examples/kubernetes, and starts them as Kubernetes would. See kubernetes.sh."""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import cluster
import kubernetes_validate
import yaml

FOLDER = Path(__file__).resolve().parents[3] / "Examples/kubernetes"
# The oldest version with sidecar containers, and the newest version with available schemas.
VERSIONS = ("1.29", "1.37")
PASSWORD = "correct horse battery staple"
# The same settings as in a pod. This program is the name server.
RESOLVER = "nameserver 127.0.0.1\nsearch default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
# Longer than any operation takes on a busy machine.
DEADLINE = 180


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


def validate(documents):
    for document in documents:
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)


class Image:
    """The result of the Containerfile, in a folder, and its start command."""

    def __init__(self, folder, context):
        self.root, self.entrypoint, self.user = folder, None, None
        for line in (FOLDER / "Containerfile").read_text().splitlines():
            word, _, rest = line.partition(" ")
            match word:
                case "" | "#":
                    continue
                case "FROM":
                    check(rest == "scratch", f"FROM {rest}")
                case "COPY":
                    source, target = rest.split()
                    place = folder / target.lstrip("/")
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(context[source], place)
                case "USER":
                    self.user = tuple(int(part) for part in rest.split(":"))
                case "ENTRYPOINT":
                    self.entrypoint = yaml.safe_load(rest)
                case _:
                    raise Failure(f"the Containerfile has an instruction that this does not know: {line}")


class Pod:
    """The containers of the Deployment, with volumes like the kubelet's: writable volumes belong to root and are writable for all
    users.
    """

    def __init__(self, documents, image, folder, secret, config_map):
        spec = documents[0]["spec"]["template"]["spec"]
        self.security, self.image, self.secret = spec["securityContext"], image, secret
        self.containers = {one["name"]: one for one in spec["initContainers"]}
        self.grace = spec["terminationGracePeriodSeconds"]
        check(image.user == (self.security["runAsUser"], self.security["runAsGroup"]), "the image has another user")
        self.volumes = {}
        for volume in spec["volumes"]:
            place = folder / volume["name"]
            place.mkdir()
            if "emptyDir" in volume:
                check(volume["emptyDir"]["medium"] == "Memory", "nothing of an account is on a disk of the node")
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=2777,gid={self.security['fsGroup']}", "tmpfs", place], check=True)
            else:
                self.fill(place, secret if "secret" in volume else config_map, volume)
            self.volumes[volume["name"]] = place
        self.mount(self.containers["account-keep"])

    def fill(self, place, content, volume):
        """Creates files as links into a folder that can be exchanged atomically. The group has access only if the manifest grants it.
        """
        (place / "..data").mkdir()
        source = volume.get("secret") or volume["configMap"]
        for item in source.get("items") or [{"key": key, "path": key} for key in content]:
            file = place / "..data" / item["path"]
            file.write_text(content[item["key"]])
            os.chown(file, 0, self.security["fsGroup"])
            file.chmod(source.get("defaultMode", 0o644))
            (place / item["path"]).symlink_to(Path("..data") / item["path"])

    def mount(self, container):
        """The root file system is read-only, with mounts as in the manifest."""
        root, mounts = self.image.root, []
        check(container["securityContext"]["readOnlyRootFilesystem"], "the root file system can be written to")
        for mount in container["volumeMounts"]:
            source, target = self.volumes[mount["name"]], root / mount["mountPath"].lstrip("/")
            if "subPath" in mount:
                source = (source / mount["subPath"]).resolve()
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
            else:
                target.mkdir(parents=True, exist_ok=True)
            mounts.append((source, target, "bind,ro" if mount.get("readOnly") else "bind"))
        # Every container receives these from its node.
        for name in ("proc", "dev"):
            (root / name).mkdir()
            mounts.append((Path("/", name), root / name, "bind"))
        (root / "etc/resolv.conf").write_text(RESOLVER)
        for source, target, options in [(root, root, "bind,ro"), *mounts]:
            subprocess.run(["mount", "-o", options, source, target], check=True)

    def environment(self, container):
        return {
            one["name"]: one["value"] if "value" in one else self.secret[one["valueFrom"]["secretKeyRef"]["key"]]
            for one in container["env"]}

    def start(self, name, arguments=None, without=()):
        container = self.containers[name]
        check(container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, f"{name} has capabilities")
        words = [*self.image.entrypoint, *container["args"]] if arguments is None else arguments
        environment = {key: value for key, value in self.environment(container).items() if key not in without}
        user, group, groups = (str(self.security[key]) for key in ("runAsUser", "runAsGroup", "fsGroup"))
        return subprocess.Popen(
            ["setpriv", "--no-new-privs", "chroot", f"--userspec={user}:{group}", f"--groups={groups}", self.image.root, *words],
            env=environment | {"PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)

    def run(self, name, arguments=None, without=()):
        """Runs a container. Returns its exit code and output."""
        process = self.start(name, arguments, without)
        said, _ = process.communicate(timeout=DEADLINE)
        return process.returncode, said


def succeed(run, text, is_done=lambda said: "Replica" not in said):
    """Repeats a command while its exit code means that a retry may succeed. A busy machine may cause such exit codes."""
    deadline = time.monotonic() + DEADLINE
    while True:
        code, said = run()
        if code == 0 and is_done(said):
            return
        check(code in (0, 75) and time.monotonic() < deadline, f"{text}: exit code {code}: {said}")


def wait(condition, text):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        check(time.monotonic() < deadline, text)
        time.sleep(0.05)


def peak_memory(pid):
    """The peak memory use in bytes."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def amount(text):
    return int(text.removesuffix("Mi")) * 2**20


def sign_in(account, folder, store, issuer):
    """Signs in on the user's machine. The pods have the same key."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder / "admin"), "ACCOUNT_STORE": store.url, "ETCDCTL_CACERT": str(store.authority),
        "ETCDCTL_USER": store.user, "ACCOUNT_KEY": store.key}
    (folder / "admin").mkdir()

    def run(*words, text=None):
        def once():
            done = subprocess.run([account, *words], env=environment, input=text, text=True, capture_output=True)
            return done.returncode, done.stderr

        succeed(once, f"account {words}")

    run("key", "add", "environment")
    run("key", "remove", "file")
    run("login", "--issuer", issuer, "--username", "alice", "--password-stdin", text=PASSWORD + "\n")
    return run


def live(pod, account, folder, store, issuer):
    token = pod.volumes["token"] / "account/default.token"

    code, said = pod.run("account-first")
    check(code in (75, 77), f"a token without a sign-in: {code} {said}")
    administrator = sign_in(account, folder, store, issuer)
    for name in ("account-key", "account-first"):
        succeed(lambda: pod.run(name), name)
    status = token.stat()
    check((status.st_uid, status.st_mode & 0o777) == (pod.security["runAsUser"], 0o600), "others can read the token")
    before = token.read_text()

    # Check that each variable has an effect, which shows that its name is not misspelled.
    probe = pod.containers["account-keep"]["readinessProbe"]["exec"]["command"]
    succeed(lambda: pod.run("account-keep", probe), "the probe", lambda said: "alice" in said and "Replica" not in said)
    for variable in pod.environment(pod.containers["account-keep"]):
        if variable == "XDG_RUNTIME_DIR":
            code, said = pod.run("account-first", without={variable})
        else:
            code, said = pod.run("account-keep", probe, without={variable})
        check(code != 0 or "Replica" in said, f"all is the same without {variable}: {said}")
    # The image's certificates are at the expected path: with the test's authority in their place, the connection succeeds.
    certificates = pod.image.root / "etc/ssl/certs/ca-certificates.crt"
    subprocess.run(["mount", "--bind", store.authority, certificates], check=True)
    succeed(lambda: pod.run("account-keep", probe, without={"ETCDCTL_CACERT"}), "the certificates of the image are not used")
    subprocess.run(["umount", certificates], check=True)
    check(pod.run("account-first", [*pod.image.entrypoint, "keep", "--onse"])[0] == 64, "a misspelt option was not noticed")

    with ended(pod.start("account-keep")) as keep:
        urllib.request.urlopen(urllib.request.Request(issuer + "/control/expire", method="POST"))
        administrator("refresh")
        wait(lambda: token.read_text() not in ("", before), "the file does not get the new token")
        peak, request = peak_memory(keep.pid), amount(pod.containers["account-keep"]["resources"]["requests"]["memory"])
        check(peak <= request, f"it takes {peak} bytes of memory, and asks for {request}")
        store.stop()
        code, said = pod.run("account-keep", probe)
        check(code == 0 and "Replica" in said and token.exists(), f"not ready without etcd: {code} {said}")
        store.start()
        administrator("logout")
        wait(lambda: not token.exists(), "the file is there after the sign-out")
        wait(lambda: pod.run("account-keep", probe)[0] == 77, "ready after the sign-out")
        sent = time.monotonic()
        keep.send_signal(signal.SIGTERM)
        keep.wait(pod.grace)
    return peak, time.monotonic() - sent


@contextlib.contextmanager
def ended(process):
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--account", required=True, type=os.path.abspath)
    parser.add_argument("--auth-server", required=True, type=os.path.abspath)
    arguments = parser.parse_args()
    documents = list(yaml.safe_load_all((FOLDER / "notes.yaml").read_text()))
    validate(documents)

    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    folder = Path(tempfile.mkdtemp(prefix="account-kubernetes-"))
    (folder / "resolv.conf").write_text(RESOLVER)
    subprocess.run(["mount", "--bind", folder / "resolv.conf", os.path.realpath("/etc/resolv.conf")], check=True)
    url = next(
        one["value"] for one in documents[0]["spec"]["template"]["spec"]["initContainers"][0]["env"] if one["name"] == "ACCOUNT_STORE")
    try:
        with cluster.Store(folder, url) as store, cluster.names(store.hosts), cluster.auth_server(arguments.auth_server, folder) as issuer:
            context = {"account": arguments.account, "ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt"}
            (folder / "volumes").mkdir()
            pod = Pod(
                documents, Image(folder / "root", context), folder / "volumes", {"account.key": store.key, "etcd-user": store.user},
                {"ca.pem": store.authority.read_text()})
            peak, end = live(pod, arguments.account, folder, store, issuer)
    finally:
        # The mounts belong to a namespace that ends with this process, so they must not be removed with the folder.
        subprocess.run(["umount", "--recursive", "--lazy", folder / "root"], capture_output=True)
        for volume in (folder / "volumes").glob("*"):
            subprocess.run(["umount", volume], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"the manifests: valid, and alive; account keep takes {peak / 2**20:.0f} MiB, and ends in {end:.1f} s")


if __name__ == "__main__":
    try:
        main()
    except (Failure, kubernetes_validate.ValidationError) as error:
        raise SystemExit(f"kubernetes: {error}")
