import AccountKit
import Benchmark
import Foundation
import SampleAccount

/// A separate folder, on the disk of `ACCOUNT_BENCH_FOLDER`.
struct Place: Sendable {
    let root: String
    let container: AppContainer

    var folder: String { root + "/Documents" }
    var archive: String { folder + "/Account.plist" }
    var key: String { root + "/Library/Keys/Account.key" }

    init(_ name: String) throws {
        let base = ProcessInfo.processInfo.environment["ACCOUNT_BENCH_FOLDER"] ?? NSTemporaryDirectory()
        root = base + "/in-process/\(name)"
        try? FileManager.default.removeItem(atPath: root)
        try FileManager.default.createDirectory(
            atPath: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        container = try AppContainer(root: root, identifier: "account")
    }

    var store: AccountStore { AccountStore(container: container) }

    /// A store with the sample account, signed in.
    func signedInStore(issuer: String? = nil) async throws -> AccountStore {
        let store = store
        try await store.signIn { .sample(issuer: issuer) }
        return store
    }
}

/// An error that must not occur during a measurement.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    init(_ text: UnsafePointer<CChar>) { self.init(String(cString: text)) }
}
