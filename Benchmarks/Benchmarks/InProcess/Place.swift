import AccountKit
import Benchmark
import Foundation
import SampleAccount

/// A folder of one's own, on the disk that `ACCOUNT_BENCH_FOLDER` is on.
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

/// What must not happen while something is measured.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    init(_ text: UnsafePointer<CChar>) { self.init(String(cString: text)) }
}
