@testable import AccountKit
import AccountTesting
import Testing

/// Fails or kills a move at each call to the two storages. Then at most one copy can refresh, and a retry completes the
/// move.
struct MoveFaultTests {
    /// The actions of other processes between an interrupted move and the retry.
    enum Meanwhile: CaseIterable, Sendable { case nothing, refreshHere, refreshThere, refreshBoth }

    private func check(_ places: TwoPlaces, _ meanwhile: Meanwhile, _ what: Comment) async throws {
        #expect(await places.live().count <= 1, what)
        var count = 0
        if meanwhile == .refreshHere || meanwhile == .refreshBoth {
            count += try await places.refreshes(.here) ? 1 : 0
        }
        if meanwhile == .refreshThere || meanwhile == .refreshBoth {
            count += try await places.refreshes(.there) ? 1 : 0
        }
        #expect(count <= 1, what)
        #expect(places.service.alarmCount == 0, what)
        // No valid token is lost.
        let store = places.store(await places.live().first ?? .here)
        #expect(await store.load().account != nil, what)

        try await places.move()
        #expect(await places.live() == [.there], what)
        #expect(try await !places.refreshes(.here), what)
        #expect(try await places.refreshes(.there), what)
        #expect(places.service.alarmCount == 0, what)
        #expect(places.there.entries[ArchiveEntry(rawValue: "Incoming.plist")] == nil, what)
        #expect(await places.store(.here).load().account?.move?.isComplete == true, what)
    }

    private func prepared(isReturn: Bool) async throws -> (TwoPlaces, OfflineKey) {
        let places = TwoPlaces()
        try await places.signIn()
        let key = try await places.store(.here).offlineKey()
        if isReturn {
            try await places.move()
            try await places.move(.there, to: .here)
        }
        return (places, key)
    }

    @Test(arguments: Meanwhile.allCases, [false, true])
    func `Completes a move after a crash at each step`(meanwhile: Meanwhile, isReturn: Bool) async throws {
        var steps = 0
        while true {
            let (places, key) = try await prepared(isReturn: isReturn)
            let life = Life(calls: steps)
            let source = places.store(.here, on: MortalStorage(base: places.here, life: life))
            let target = places.store(.there, on: MortalStorage(base: places.there, life: life))
            do {
                try await source.moveSession(to: target, named: "there", from: "here")
            } catch {
                #expect(life.isOver)
            }
            try await check(places, meanwhile, "after \(steps) calls")
            #expect(try await places.store(.there).isCurrent(key), "after \(steps) calls")
            if !life.isOver { break }
            steps += 1
        }
        #expect(steps > 20)
    }

    @Test(arguments: [TwoPlaces.Place.here, .there], Meanwhile.allCases)
    func `Completes a move after an error at each step`(place: TwoPlaces.Place, meanwhile: Meanwhile) async throws {
        var number = 0
        while true {
            number += 1
            let (places, key) = try await prepared(isReturn: false)
            let storage = FaultyArchiveStorage(places.storage(place))
            storage.inject(.fails(FaultyArchiveStorage.diskFull), at: number)
            let source = places.store(.here, on: place == .here ? storage : nil)
            let target = places.store(.there, on: place == .there ? storage : nil)
            // A failed optional call need not fail the move.
            _ = try? await source.moveSession(to: target, named: "there", from: "here")
            try await check(places, meanwhile, "call \(number) at \(place)")
            #expect(try await places.store(.there).isCurrent(key), "call \(number) at \(place)")
            if storage.callCount < number { break }
        }
        #expect(number > 10)
    }

    @Test(arguments: [TwoPlaces.Place.here, .there])
    func `Stops a move at a write that a power cut may undo`(place: TwoPlaces.Place) async throws {
        let places = TwoPlaces()
        try await places.signIn()
        let storage = HookedStorage(base: places.storage(place), durability: .unknown(reason: "testing"))
        let source = places.store(.here, on: place == .here ? storage : nil)
        let target = places.store(.there, on: place == .there ? storage : nil)
        for _ in 1...2 {
            await expectAccountError(.durabilityUnknown) {
                try await source.moveSession(to: target, named: "there", from: "here")
            }
            #expect(await places.store(.there).load().account == nil)
        }
        try await check(places, .refreshBoth, "then the disk is healthy")
    }
}
