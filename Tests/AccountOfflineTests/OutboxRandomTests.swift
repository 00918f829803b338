#if Offline
import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import TestScene
import Testing

@testable import AccountOffline

/// Random changes over an unreliable network, by processes that start and stop. Each seed gives the same run.
struct OutboxRandomTests {
    /// The state that the user wants, recorded separately.
    private struct Wanted {
        var texts: [String: String] = [:]
        var starred: Set<String> = []
        var removed: Set<String> = []
    }

    private static func fault(_ random: inout SeededGenerator) -> NoteService.Fault? {
        switch Int.random(in: 0..<14, using: &random) {
        case 0: .refused
        case 1, 2: .lost
        case 3: .status(500)
        case 4: .status(503, ["Retry-After": "3"])
        case 5: .status(429)
        case 6: .status(401)
        case 7: .portal
        case 8: .proxy
        case 9, 10: .late
        default: nil
        }
    }

    private func add(
        _ number: Int, _ wanted: inout Wanted, _ notes: OfflineCollection<Notes>, _ random: inout SeededGenerator
    ) async throws {
        let text = "text \(number)"
        guard let id = wanted.texts.keys.sorted().randomElement(using: &random),
            Int.random(in: 0..<3, using: &random) > 0
        else {
            let made = try #require(try await notes.add(.create(text)))
            wanted.texts[made.object] = text
            return
        }
        switch Int.random(in: 0..<5, using: &random) {
        case 0, 1:
            wanted.texts[id] = text
            try await notes.add(.update(id, text))
        case 2:
            wanted.texts[id] = nil
            wanted.starred.remove(id)
            wanted.removed.insert(id)
            try await notes.add(Change(.delete, of: id))
        case 3:
            wanted.starred.insert(id)
            try await notes.add(Change(.star, of: id))
        default:
            wanted.starred.remove(id)
            try await notes.add(Change(.unstar, of: id))
        }
    }

    @Test(arguments: seeds(60))
    func `Makes each offline change once, whatever messages are lost`(
        seed: Int
    ) async throws {
        var random = SeededGenerator(seed)
        let scene = try await OfflineScene()
        var wanted = Wanted()
        for number in 1...3 {
            let id = await scene.service.create("old \(number)")
            wanted.texts[id] = "old \(number)"
        }
        // Longer than a late request takes.
        let remote = Notes(searchDelay: .seconds(30))
        var notes = try await scene.open(remote)
        var faults = (1...60).map { _ in Self.fault(&random) }
        for number in 1...Int.random(in: 3...15, using: &random) {
            try await add(number, &wanted, notes, &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: notes = try await scene.open(remote)
            case 1, 2:
                if let fault = faults.removeLast() { await scene.service.fail(fault) }
                _ = try await notes.synchronize(ignoringBackOff: Bool.random(using: &random))
            default:
                scene.clock.advance(by: .seconds(Int.random(in: 0...20, using: &random)))
                try await scene.service.carryOutLateRequests()
            }
        }
        // At the end, the network works for increasing periods.
        var runs = 0
        while try await notes.unsentWork() != nil {
            if runs < 20, let fault = faults.removeLast() { await scene.service.fail(fault) }
            try await scene.service.carryOutLateRequests()
            scene.clock.advance(by: .seconds(7200))
            let report = try await notes.synchronize()
            #expect(report.pending.allSatisfy { !$0.state.needsDecision }, "\(report.pending)")
            runs += 1
            try #require(runs < 60, "the synchronization does not end: \(report)")
            if Int.random(in: 0..<3, using: &random) == 0 { notes = try await scene.open(remote) }
        }
        let service = await scene.service.notes
        var expected: [String: String] = [:]
        for (id, text) in wanted.texts { expected[try await notes.currentID(of: id)] = text }
        #expect(Dictionary(uniqueKeysWithValues: service.map { ($0.id, $0.text) }) == expected)
        var starred: Set<String> = []
        for id in wanted.starred { starred.insert(try await notes.currentID(of: id)) }
        #expect(Set(service.filter(\.isStarred).map(\.id)) == starred)
        let applied = await scene.service.applied.filter { !$0.key.hasSuffix("star") }
        #expect(applied.filter { $0.value > 1 } == [:])
        // The lists match too.
        try await notes.refreshAll("all")
        #expect(try await notes.ids() == service.map(\.id))
    }
}
#endif
