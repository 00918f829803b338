import AccountKit
import AccountTesting
import BoundedWaiting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(15))) struct ConcurrentProcessTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func points() throws -> Int {
        let output = try Exerciser.run(folder, "read").output
        return try #require(Int(output.replacingOccurrences(of: "signed in, ", with: "")), "\(output)")
    }

    /// The generation in the file, after the first 68 bytes of the property list.
    private func generation() throws -> UInt64 {
        let bytes = try folder.bytes()
        let start = try #require(bytes.range(of: Data("ACCT\r\n".utf8))).lowerBound + 24
        return bytes[start..<start + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    @Test func `Loses no change of two processes with five hundred writes each`() throws {
        try Exerciser.run(folder, "sign-in")
        let writers = try (0..<2).map { _ in try Exerciser.start(Exerciser.path, [folder.path, "update", "500"]) }
        for writer in writers {
            try writer.process.waitForEnd()
            #expect(writer.process.terminationStatus == 0)
        }
        #expect(try points() == 1000)
        #expect(try generation() == 1001)
    }

    @Test func `Leaves the old or the new account and no lock after a killed writer`() throws {
        try Exerciser.run(folder, "sign-in")
        var random = SeededGenerator(seed: 20_261_121)
        var last = 0
        for round in 0..<40 {
            let (process, _) = try Exerciser.start(Exerciser.path, [folder.path, "update", "100000"])
            // Kill the writer as soon as the archive has changed a few times, without a delay.
            var seen: Set<Data> = []
            let changes = Int.random(in: 1...6, using: &random)
            while seen.count <= changes { seen.insert(try folder.bytes()) }
            kill(process.processIdentifier, SIGKILL)
            try process.waitForEnd()
            let now = try points()
            #expect(now >= last + changes - 1, "round \(round): \(now) after \(last)")
            last = now
        }
        #expect(try Exerciser.run(folder, "update", "1").output == "updated 1")
        #expect(try points() == last + 1)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.documents).sorted()
        #expect(names == ["Account.lock", "Account.plist"])
    }

    @Test func `Creates one key and one account in twenty simultaneous sign-ins`() throws {
        let processes = try (0..<20).map { _ in try Exerciser.start(Exerciser.path, [folder.path, "sign-in"]) }
        for (process, pipe) in processes {
            try process.waitForEnd()
            let output = try pipe.fileHandleForReading.allBytes()
            #expect(process.terminationStatus == 0, "\(String(decoding: output, as: UTF8.self))")
        }
        #expect(try Exerciser.run(folder, "read").output == "signed in, 0")
        #expect(try folder.permissions(folder.path + "/Library/Keys/Account.key") == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/Library/Keys") == ["Account.key"])
    }

    @Test func `Observes another process's change without polling`() async throws {
        try Exerciser.run(folder, "sign-in")
        let store = AccountStore(container: try folder.container())
        _ = await store.load()
        let events = store.events()
        let following = Task {
            do {
                try await store.observeExternalChanges()
            } catch is CancellationError {
            } catch {
                Issue.record(error, "the store no longer observes changes")
            }
        }
        defer { following.cancel() }
        // The watch has begun once the first change is reported. Until then, repeat the change.
        let changing = Task {
            while !Task.isCancelled {
                try Exerciser.run(folder, "update", "1")
                // With one cooperative thread, the observer needs that thread too.
                await Task.yield()
            }
        }
        for await event in events {
            guard case .updated(let user) = event else { continue }
            #expect(user.profile["points"] != nil)
            break
        }
        changing.cancel()
        _ = await changing.result

        let rest = store.events()
        try Exerciser.run(folder, "sign-out")
        for await event in rest {
            if case .signedOut(let signOut) = event {
                #expect(signOut.reason == .signedOutByUser)
                break
            }
        }
        #expect(store.account == nil)
    }
}

/// Reproducible random numbers (SplitMix64).
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
