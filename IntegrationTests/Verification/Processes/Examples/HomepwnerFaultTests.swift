@testable import EndToEndSupport
import Foundation
import Testing

/// `homepwner` after a kill at a system call. Every confirmed change must be stored, and photos and items must
/// be consistent.
@Suite(.queued)
struct HomepwnerFaultTests {
    /// A system call of a run. strace counts calls by name, for each thread.
    struct Call: Hashable {
        let name: String
        let number: Int
    }

    /// A command that changes items, in an empty household or in a household that has an item with a photo.
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

    /// A household before an operation, and the system calls by which the operation changes files.
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
            calls = try await HomepwnerFaultTests.calls(
                arguments, named: "openat,fcntl,fchmod,chmod,mkdir,write,fsync,rename,unlink",
                in: household.copy("trace"))
        }

        /// Runs the operation in a copy of the household, and kills it at one system call.
        func kill(at call: Call) async throws -> (Household, Outcome) {
            let copy = try household.copy("\(call.name)-\(call.number)")
            let outcome = try await copy.homepwner.command(arguments)
                .run(
                    by: "strace", "-f", "-qq", "-o", copy.container.path("calls"), "-e", "trace=\(call.name)", "-e",
                    "inject=\(call.name):signal=KILL:when=\(call.number)"
                ).run()
            return (copy, outcome)
        }
    }

    /// The system calls that a command makes once it touches the household.
    static func calls(_ arguments: [String], named names: String, in household: Household) async throws -> [Call] {
        let file = household.container.path("calls")
        let outcome = try await household.homepwner.command(arguments)
            .run(by: "strace", "-f", "-qq", "-e", "trace=\(names)", "-e", "signal=none", "-o", file).run()
        guard outcome.exitCode == 0 else { throw Unexpected(outcome) }
        var counts: [String: Int] = [:]
        var calls: [Call] = []
        var hasBegun = false
        for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
            guard let match = line.firstMatch(of: /^(\d+) +([a-z]+)\(/) else { continue }
            // The command does not touch the household before this path appears.
            hasBegun = hasBegun || line.contains(household.container.home)
            let (thread, name) = (match.1, String(match.2))
            counts[thread + name, default: 0] += 1
            let call = Call(name: name, number: counts[thread + name, default: 0])
            if hasBegun, !calls.contains(call) { calls.append(call) }
        }
        return calls
    }

    /// The items' names, and which of the items have photos.
    private func state(of household: Household) async throws -> [String] {
        try await household.items().map { $0.name + ($0.photo ? " with photo" : "") }
    }

    @Test(arguments: Operation.allCases)
    func `A kill at any system call loses no confirmed change of items`(
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
                let (copy, outcome) = try await scene.kill(at: call)
                if outcome.exitCode == 137 { killCount += 1 }
                let list = try await state(of: copy)
                // A change is confirmed if the command printed its message or exited with 0.
                let isConfirmed = outcome.exitCode == 0 || !outcome.errors.isEmpty
                #expect(list == after || list == before && !isConfirmed, "\(call): \(list) after \(outcome)")
                #expect(try copy.disagreement(isTidy: false) == nil, "\(call)")
                _ = try await copy.add("Next")
                #expect(try await state(of: copy) == list + ["Next"], "\(call)")
                #expect(try copy.disagreement(isTidy: true) == nil, "\(call)")
            }
            // The distribution of the work among the threads varies, so some calls do not occur.
            #expect(killCount * 4 >= scene.calls.count * 3, "\(killCount) of \(scene.calls)")
            #expect(scene.calls.count > 8)
        }
    }

    @Test func `Syncs the photo, then the items that refer to it, then confirms`() async throws {
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
}
