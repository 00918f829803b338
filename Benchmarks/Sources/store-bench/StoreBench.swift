import AccountKit
import CFloor
import Foundation
import SampleAccount

/// Loads and saves an account with a store and with the floor in turns. Prints the median time of each operation in seconds.
///
///     store-bench ROOT COUNT
@main
enum StoreBench {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let count = Int(arguments[2]), count > 0 else {
            fatalError("usage: store-bench ROOT COUNT")
        }
        let store = try await Place(arguments[1] + "/store")
        let floor = try await Place(arguments[1] + "/floor")
        try await load(store, floor, count)
        try await save(store, floor, count)
    }

    /// Opens, reads, verifies, decrypts and decodes. A new store has no cached key.
    private static func load(_ store: Place, _ floor: Place, _ count: Int) async throws {
        var times = Times()
        for turn in 0..<count {
            try await times.add("load", "load-floor", isReversed: turn % 2 == 1) {
                let state = await AccountStore(container: store.container).load()
                guard state.account?.profile["points"] == 42 else { throw Failure("\(state)") }
            } _: {
                var account = try floor.open()
                let record = try PropertyListDecoder().decode(
                    Record.self, from: Data(bytes: account.record, count: account.record_count))
                floor_close(&account)
                guard record.username == "alice", record.profile.points == 42 else { throw Failure("another account") }
            }
        }
        times.report()
    }

    /// Changes the account durably. Both keep the key and the account in memory.
    private static func save(_ store: Place, _ floor: Place, _ count: Int) async throws {
        var times = Times()
        let opened = AccountStore(container: store.container)
        guard await opened.load().account != nil else { throw Failure("no account") }
        var account = try floor.open()
        for turn in 0..<count {
            try await times.add("save", "save-floor", isReversed: turn % 2 == 1) {
                try await opened.update { $0.profile["points"] = $0.profile["points"] == 42 ? 43 : 42 }
            } _: {
                try check(floor_change(&account, floor.folder, floor.archive, floor.folder + "/Account.lock"))
            }
        }
        floor_close(&account)
        times.report()
        // The package can read the archive of the floor.
        guard await AccountStore(container: floor.container).load().account?.username == "alice" else {
            throw Failure("the floor saved another account")
        }
    }
}

/// A container with the sample account.
struct Place {
    let root: String
    let container: AppContainer

    var folder: String { root + "/Documents" }
    var archive: String { folder + "/Account.plist" }

    init(_ root: String) async throws {
        self.root = root
        try? FileManager.default.removeItem(atPath: root)
        try FileManager.default.createDirectory(
            atPath: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        container = try AppContainer(root: root, identifier: "account")
        try await AccountStore(container: container).signIn { .sample(issuer: "https://login.example.com") }
    }

    /// Opens the archive with system calls and libsodium alone.
    func open() throws -> floor_account {
        var account = floor_account()
        try check(floor_open(archive, root + "/Library/Keys/Account.key", "account", "default", &account))
        return account
    }
}

/// The record with typed fields, so that a decoder need not determine their types.
struct Record: Decodable {
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

/// The times of two operations that take turns.
struct Times {
    private var values: [String: [Double]] = [:]

    mutating func add(
        _ name: String, _ floorName: String, isReversed: Bool, _ body: () async throws -> Void,
        _ floor: () throws -> Void
    ) async throws {
        if !isReversed { try await add(name, body) }
        try await add(floorName, floor)
        if isReversed { try await add(name, body) }
    }

    private mutating func add(_ name: String, _ body: () async throws -> Void) async throws {
        let start = ContinuousClock.now
        try await body()
        values[name, default: []].append(start.duration(to: .now) / .seconds(1))
    }

    func report() {
        for (name, times) in values { print(name, times.sorted()[times.count / 2]) }
    }
}

struct Failure: Error {
    let text: String

    init(_ text: String) { self.text = text }
}

/// Throws the error that a function of the floor describes.
func check(_ error: UnsafePointer<CChar>?) throws {
    if let error { throw Failure(String(cString: error)) }
}
