"""Measures a load and a save in one process, in turns with the floor."""

import measure
from measure import Ratio, median_duration


def run(bench):
    times = {}
    for _ in range(bench.plan.rounds):
        command = [f"{bench.build}/store-bench", bench.root("store"), str(bench.plan.repetitions)]
        for line in measure.run(command, None).stdout.splitlines():
            name, value = line.split()
            times.setdefault(name, []).append(float(value))
    ratios = {name: Ratio(times[name], times[f"{name}-floor"]) for name in ("load", "save")}
    bench.report.section(
        "Loading and saving in one process",
        f"Each round makes {bench.plan.repetitions} loads and saves, in turns with the floor, and its result is their median. A load opens, reads, "
        "verifies, decrypts and decodes the account with the key from its file. The floor of a load does so in C, and decodes the record "
        "with Foundation's `PropertyListDecoder` into a type with exactly its fields. A save changes one field. The floor of a save does "
        "the same in C: lock, read, encrypt, write, fsync, rename, fsync of the folder. Both keep the key in memory.",
        ("operation", "time", "floor", "to the floor"),
        [(f"`{call}`", median_duration(times[name]), median_duration(times[f"{name}-floor"]), ratios[name])
         for name, call in (("load", "AccountStore.load()"), ("save", "AccountStore.update(_:)"))])
    bench.report.at_most("save", ratios["save"], 1.25, "its floor")
    bench.report.at_most("load", ratios["load"], 1.3, "its floor")
