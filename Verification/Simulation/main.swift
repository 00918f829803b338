import CSimulation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// simulation COUNT [FROM]            schedules with the seeds FROM…, and what happened in them
// simulation seed SEED [MISTAKE]     one schedule, in words
// simulation mistakes COUNT          makes each mistake on purpose, and expects it to be noticed in so many schedules
//
// Exits with 0 if all rules held, and with 1 if not.

func fail(_ text: String) -> Never {
    print(text)
    exit(1)
}

func describe(_ violation: Violation) -> String {
    "rule \(violation.rule.rawValue) (\(violation.rule.text)) is broken: \(violation.text)"
}

/// Runs a schedule. Every fiftieth seed runs twice, to check that both runs are the same.
func run(_ seed: UInt64, _ mistake: Mistake? = nil) -> Schedule.Result {
    var schedule = Schedule(seed: seed, mistake: mistake)
    let result = schedule.run()
    guard result.violation == nil, seed % 50 == 0 else { return result }
    var again = Schedule(seed: seed, mistake: mistake)
    let second = again.run()
    guard second.fingerprint != result.fingerprint else { return result }
    return Schedule.Result(
        violation: Violation(rule: .seedReplaysExactly, text: "the second run differed"),
        coverage: result.coverage, trace: [], fingerprint: result.fingerprint)
}

func runSchedules(_ count: UInt64, from first: UInt64) {
    var coverage = Coverage()
    for seed in first..<first + count {
        let result = run(seed)
        coverage.add(result.coverage)
        guard let violation = result.violation else { continue }
        print("seed \(seed): \(describe(violation))\n")
        var schedule = Schedule(seed: seed, mistake: nil, isTraced: true)
        for line in schedule.run().trace { print("  \(line)") }
        fail("\nTo see it again: make simulate SEED=\(seed)")
    }
    for (occurrence, number) in zip(Occurrence.allCases, coverage.counts) {
        print("\(number)\t\(occurrence.rawValue)")
    }
    print("\(count)\tschedules")
}

func runSeed(_ seed: UInt64, _ mistake: Mistake?) {
    var schedule = Schedule(seed: seed, mistake: mistake, isTraced: true)
    let result = schedule.run()
    for line in result.trace { print(line) }
    guard let violation = result.violation else { return print("\nseed \(seed): all rules hold") }
    fail("\nseed \(seed): \(describe(violation))")
}

func runMistakes(_ count: UInt64) {
    var unnoticed = 0
    for mistake in Mistake.allCases {
        var others: Set<Int> = []
        let first = (0..<count).first { seed in
            guard let rule = run(seed, mistake).violation?.rule else { return false }
            others.insert(rule.rawValue)
            return mistake.breaks.contains(rule)
        }
        if let first {
            print("noticed  \(mistake.rawValue), by seed \(first)")
        } else {
            unnoticed += 1
            print("FAIL     \(mistake.rawValue) was noticed only by other rules: \(others.sorted())")
        }
    }
    if unnoticed > 0 { fail("\(unnoticed) mistakes were not noticed by the right rule") }
}

// Without this variable, sets and dictionaries have a random order.
guard getenv("SWIFT_DETERMINISTIC_HASHING") != nil else {
    fail("SWIFT_DETERMINISTIC_HASHING must be set, or a seed would not replay exactly")
}
simulation_collect_jobs()
simulation_watch()

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "seed":
    guard let seed = arguments.dropFirst().first.flatMap(UInt64.init) else { fail("seed NUMBER [MISTAKE]") }
    let mistake = arguments.dropFirst(2).first
    guard mistake == nil || mistake.flatMap(Mistake.init) != nil else {
        fail("the mistakes are \(Mistake.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    runSeed(seed, mistake.flatMap(Mistake.init))
case "mistakes":
    guard let count = arguments.dropFirst().first.flatMap(UInt64.init) else { fail("mistakes COUNT") }
    runMistakes(count)
case let count?:
    guard let count = UInt64(count) else { fail("COUNT [FROM]") }
    runSchedules(count, from: arguments.dropFirst().first.flatMap(UInt64.init) ?? 0)
case nil: fail("COUNT [FROM], seed SEED [MISTAKE] or mistakes COUNT")
}
