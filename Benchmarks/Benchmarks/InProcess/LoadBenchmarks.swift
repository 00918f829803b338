import AccountKit
import Benchmark
import CFloor
import Foundation
import SampleAccount

/// Loads an account from its files: opens, reads, verifies, decrypts and decodes.
func loadBenchmarks() {
    // A new store has no cached key, so it also reads the key file and unwraps the data key.
    Benchmark("load: a new store, with the key file") { benchmark, place in
        benchmark.startMeasurement()
        let state = await place.store.load()
        benchmark.stopMeasurement()
        guard state.account?.username == "alice" else { throw Failure("\(state)") }
    } setup: {
        try await signedInPlace("load-new")
    }

    Benchmark("load: again, with nothing changed") { benchmark, store in
        benchmark.startMeasurement()
        let state = await store.load()
        benchmark.stopMeasurement()
        guard state.account?.username == "alice" else { throw Failure("\(state)") }
    } setup: {
        try await Place("load-store").signedInStore()
    }

    // The minimum: system calls, libsodium, and one decode into a type with exactly these fields.
    for isGuarded in [false, true] {
        Benchmark("load: floor" + (isGuarded ? ", in guarded memory" : "")) { benchmark, place in
            benchmark.startMeasurement()
            let record = try floorLoad(place, isGuarded: isGuarded)
            benchmark.stopMeasurement()
            guard record.username == "alice", record.profile.points == 42 else { throw Failure("another account") }
        } setup: {
            try await signedInPlace("load-floor-\(isGuarded)")
        }
    }

    // For comparison: a plain file.
    Benchmark("load: NSKeyedUnarchiver") { (benchmark: Benchmark, file: URL) in
        benchmark.startMeasurement()
        let data = try Data(contentsOf: file)
        let account = try NSKeyedUnarchiver.unarchivedObject(ofClass: ArchivedAccount.self, from: data)
        benchmark.stopMeasurement()
        guard account?.username == "alice", account?.points == 42 else { throw Failure("another account") }
    } setup: {
        let file = URL(fileURLWithPath: try Place("load-keyed").root + "/Account.archive")
        try ArchivedAccount.archived(.sample()).write(to: file, options: .atomic)
        return file
    }
}

private func signedInPlace(_ name: String) async throws -> Place {
    let place = try Place(name)
    _ = try await place.signedInStore()
    return place
}

/// The record with typed fields, so that a decoder need not determine their types.
private struct Record: Decodable {
    struct Profile: Decodable {
        var name: String
        var email: String
        // swift-format-ignore: AlwaysUseLowerCamelCase
        var email_verified: Bool
        var points: Int64
        // swift-format-ignore: AlwaysUseLowerCamelCase
        var registered_at: Date
    }

    var id: String
    var issuer: String?
    var username: String?
    var clientID: String?
    var tokenType: String
    var scopes: [String]
    var issuedAt: Date
    var expiresAt: Date?
    var verifiedAt: Date?
    var profile: Profile
}

private func floorLoad(_ place: Place, isGuarded: Bool) throws -> Record {
    var account = floor_account()
    if let error = floor_open(place.archive, place.key, "account", "default", isGuarded, &account) {
        throw Failure(error)
    }
    defer { floor_close(&account) }
    return try PropertyListDecoder().decode(
        Record.self, from: Data(bytes: account.record, count: account.record_count))
}
