import Foundation
import Testing

/// `homepwner` when it dies, or a call fails, in the middle: what it has confirmed is there, and photos and items agree.
@Suite(.queued)
struct HomepwnerFaultTests {
    /// A system call of a run: strace counts them by their name, in each thread.
    struct Call: Hashable {
        let name: String
        let number: Int
    }

    /// What one of the commands that change something does, in a household that has an item with a photo, or nothing yet.
    enum Operation: CaseIterable {
        case addFirst, add, setPhoto, remove

        var isFirst: Bool { self == .addFirst }

        func arguments(_ bear: String?, photo: String) -> [String] {
            switch self {
            case .addFirst, .add: ["add", "Tape", "--photo", photo]
            case .setPhoto: ["photo", "set", bear ?? "", photo]
            case .remove: ["remove", bear ?? ""]
            }
        }
    }

    /// A household before an operation, and the calls of that with which it changes files.
    private struct Scene {
        let household: Household
        let arguments: [String]
        let calls: [Call]

        init(_ operation: Operation, in household: Household) async throws {
            self.household = household
            let photo = try household.photo("2.jpg", byte: 2)
            var bear: String?
            if !operation.isFirst {
                bear = try await household.add("Bear", "--photo", try household.photo("1.jpg", byte: 1))
                _ = try await household.add("Other", "--photo", household.container.path("1.jpg"))
            }
            arguments = operation.arguments(bear, photo: photo)
            calls = try await Self.calls(arguments, in: household.copy("trace"))
        }

        private static func calls(_ arguments: [String], in household: Household) async throws -> [Call] {
            let file = household.container.path("calls")
            let names = "openat,fcntl,fchmod,chmod,mkdir,write,fsync,rename,unlink"
            let outcome = try await household.homepwner.command(arguments)
                .run(by: "strace", "-f", "-qq", "-e", "trace=\(names)", "-e", "signal=none", "-o", file).run()
            guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
            var counts: [String: Int] = [:]
            var calls: [Call] = []
            var hasBegun = false
            for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
                guard let match = line.firstMatch(of: /^(\d+) +([a-z]+)\(/) else { continue }
                // The household is not touched before its path is named.
                hasBegun = hasBegun || line.contains(household.container.home)
                let (thread, name) = (match.1, String(match.2))
                counts[thread + name, default: 0] += 1
                let call = Call(name: name, number: counts[thread + name, default: 0])
                if hasBegun, !calls.contains(call) { calls.append(call) }
            }
            return calls
        }

        /// Runs the operation in a copy of the household, with a fault at a call.
        func run(_ fault: String, at call: Call) async throws -> (Household, Outcome) {
            let copy = try household.copy("\(call.name)-\(call.number)")
            let outcome = try await copy.homepwner.command(arguments)
                .run(
                    by: "strace", "-f", "-qq", "-o", copy.container.path("calls"), "-e", "trace=\(call.name)", "-e",
                    "inject=\(call.name):\(fault):when=\(call.number)"
                ).run()
            return (copy, outcome)
        }
    }

    /// The items and whether they have photos.
    private func state(of household: Household) async throws -> [String] {
        try await household.items().map { $0.name + ($0.photo ? " with photo" : "") }
    }

    @Test(arguments: Operation.allCases)
    func `Killed before any of its calls, it loses nothing that was confirmed, and the next command tidies up`(
        operation: Operation
    ) async throws {
        try await Household.run { household in
            let scene = try await Scene(operation, in: household)
            let before = try await state(of: household)
            let after = try await state(
                of: try Household(container: Container(root: household.container.path("trace"))))
            #expect(before != after || operation == .setPhoto)
            var killCount = 0
            for call in scene.calls {
                let (copy, outcome) = try await scene.run("signal=KILL", at: call)
                if outcome.exitCode == 137 { killCount += 1 }
                let list = try await state(of: copy)
                // Confirmed is what it has printed, or what it has ended well with.
                let isConfirmed = outcome.exitCode == 0 || !outcome.errors.isEmpty
                #expect(list == after || list == before && !isConfirmed, "\(call): \(list) after \(outcome)")
                #expect(try copy.disagreement(isTidy: false) == nil, "\(call)")
                _ = try await copy.add("Next")
                #expect(try await state(of: copy) == list + ["Next"], "\(call)")
                #expect(try copy.disagreement(isTidy: true) == nil, "\(call)")
            }
            // Threads do not always get the same work.
            #expect(killCount * 4 >= scene.calls.count * 3, "\(killCount) of \(scene.calls)")
            #expect(scene.calls.count > 8)
        }
    }

    @Test func `Thirty processes that work on the same items, a third of them killed at random, lose nothing`()
        async throws
    {
        try await Household.run { household in
            let photo = try household.photo("1.jpg", byte: 1)
            let bear = try await household.add("Bear", "--photo", photo)
            let homepwner = household.homepwner
            let confirmed = try await withThrowingTaskGroup(returning: Set<String>.self) { group in
                for number in 0..<30 {
                    let adds = !number.isMultiple(of: 4)
                    let arguments = adds ? ["add", "\(number)", "--photo", photo] : ["photo", "set", bear, photo]
                    let delay = Double.random(in: 0.005..<0.15)
                    group.addTask {
                        let command = homepwner.command(arguments)
                        let isKilled = number.isMultiple(of: 3)
                        let outcome = try await
                            (isKilled ? command.run(by: "timeout", "--signal=KILL", "\(delay)") : command).run()
                        #expect(outcome.exitCode == 0 || isKilled && outcome.exitCode == 137, "\(outcome)")
                        return adds && outcome.exitCode == 0 ? "\(number)" : nil
                    }
                }
                return try await group.reduce(into: []) { names, name in if let name { names.insert(name) } }
            }
            _ = try await household.add("Last")
            let items = try await household.items()
            #expect(confirmed.isSubset(of: items.map(\.name)))
            #expect(Set(items.map(\.name)).count == items.count)
            #expect(items.allSatisfy { $0.photo || $0.name == "Last" })
            #expect(try household.disagreement(isTidy: true) == nil)
        }
    }

    @Test func `A photo reaches the disk before the items that name it, and they before anything is confirmed`()
        async throws
    {
        try await Household.run { household in
            _ = try await household.add("Bear")
            let photo = try household.photo("1.jpg", byte: 1)
            let file = household.container.path("calls")
            let outcome = try await household.homepwner.command(["add", "Tape", "--photo", photo])
                .run(by: "strace", "-f", "-qq", "-y", "-e", "trace=fcntl,write,fsync,rename", "-o", file).run()
            #expect(outcome.exitCode == 0, "\(outcome)")
            var calls = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")[...]
            let order = [
                ["write(", "/Documents/Items/.", ".tmp>"], ["fsync(", "/Documents/Items/.", ".tmp>"],
                ["fcntl(", "/Items.lock>", "F_WRLCK"], ["rename(", "/Documents/Items/.", ".tmp\", "],
                ["fsync(", "/Documents/Items>"], ["fsync(", "/Documents>"], ["write(", "/Documents/.Items."],
                ["fsync(", "/Documents/.Items."], ["rename(", "/Documents/Items.plist\""], ["fsync(", "/Documents>"],
                ["fcntl(", "/Items.lock>", "F_UNLCK"], ["write(1<"],
            ]
            for parts in order {
                let index = calls.firstIndex { call in parts.allSatisfy { call.contains($0) } }
                calls = calls[try #require(index, "no \(parts)")...].dropFirst()
            }
        }
    }

    @Test(arguments: [Operation.addFirst, .remove])
    func `On a full disk it says so, everything is as before, and nothing is left behind`(
        operation: Operation
    ) async throws {
        try await Household.run { household in
            let scene = try await Scene(operation, in: household)
            let before = try await state(of: household)
            let after = try await state(
                of: try Household(container: Container(root: household.container.path("trace"))))
            var failureCount = 0
            for call in scene.calls where ["mkdir", "write", "fsync", "rename"].contains(call.name) {
                let (copy, outcome) = try await scene.run("error=ENOSPC", at: call)
                let list = try await state(of: copy)
                // Until the disk has the new items, those that a power cut brings back keep their photos.
                let isDurable = !outcome.errors.contains("did not confirm")
                #expect(try copy.disagreement(isTidy: isDurable) == nil, "\(call): \(outcome)")
                if outcome.exitCode == 0 {
                    #expect(list == after, "\(call): \(outcome)")
                } else {
                    failureCount += 1
                    // Where each thread's first write fails, so does that of the message.
                    let isTold =
                        outcome.errors.contains("ENOSPC") || outcome.errors.contains("enough space")
                        || outcome.errors.isEmpty && call.name == "write"
                    #expect(outcome.exitCode == 74 && isTold, "\(call): \(outcome)")
                    let isSaved = outcome.errors.contains("was saved") || outcome.errors.contains("result could not")
                    #expect(list == (isSaved ? after : before), "\(call): \(outcome)")
                }
            }
            #expect(failureCount >= 4)
        }
    }
}
