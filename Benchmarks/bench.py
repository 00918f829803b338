"""What all parts of the benchmarks use."""

import dataclasses
import os
import shutil

import measure
from measure import Plan
from report import Report

# The access token of the sample account, which the other programs store too.
TOKEN = "access-" + "0123456789abcdef" * 4


@dataclasses.dataclass
class Bench:
    # The installed command, and the example tool.
    account: str
    gists: str
    # The folder of this package's programs, and that of the programs that `programs.py` builds.
    build: str
    programs: str
    # A folder on the disk that is measured, and a folder with a short path, since gpg-agent creates a socket there.
    folder: str
    home: str
    plan: Plan
    report: Report
    # The versions of the other programs.
    versions: dict = dataclasses.field(default_factory=dict)

    def root(self, name):
        """A new folder."""
        root = os.path.join(self.folder, name)
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root, mode=0o700)
        return root

    def container(self, name, *options):
        """A container of the command in which the sample account is signed in."""
        root = self.root(name)
        measure.run([f"{self.build}/bench-container", root, *options], None)
        return root

    def environment(self, root, **variables):
        return {"PATH": os.environ["PATH"], "HOME": root, "ACCOUNT_HOME": root, **variables}

    def hyperfine(self, commands, environment):
        return measure.hyperfine(commands, environment, self.plan)
