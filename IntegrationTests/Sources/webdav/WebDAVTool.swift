import AccountCommands
import AccountHTTP
import AccountKit
import AccountDocuments
import ArgumentParser
import Foundation

/// Files of a WebDAV server with encrypted local copies, for tests that need a separate process.
///
/// The server's address is in WEBDAV_ORIGIN. Each command prints its result on standard output, and one line on
/// standard error for each progress report.
@main struct WebDAVTool: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.webdav"
    static let environmentPrefix = "WEBDAV"
    static let acceptsIssuer = true
    static let configuration = CommandConfiguration(
        commandName: "webdav", subcommands: [Get.self, Put.self, Forget.self, AccountCommand<WebDAVTool>.self])

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        try OAuthAuthority(
            issuer: options.service.issuer ?? "", clientID: "account-cli", timeout: options.timeout,
            logger: options.logger)
    }

    static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)? {
        try await OfflineBlobs("files", WebDAV(folder: "/"), of: store, in: try container()) { _, _, _ in
            throw AccountError(.misconfigured, "the service is not asked while signing out")
        }
    }

    static func blobs() async throws -> OfflineBlobs {
        let store = try store()
        guard let account = await store.load().account else {
            throw AccountError(.notSignedIn, "you are not signed in")
        }
        let service = AccountService(issuer: account.issuer)
        let client = try AuthenticatedClient(
            origin: ProcessInfo.processInfo.environment["WEBDAV_ORIGIN"] ?? "", store: store,
            authority: try authority(with: AuthorityOptions(service: service, timeout: .seconds(60))),
            timeout: .seconds(60))
        return try await blobs(of: store, sendingWith: client)
    }

    // snippet.open
    static func blobs(
        of store: AccountStore, sendingWith client: AuthenticatedClient
    ) async throws -> OfflineBlobs {
        try await OfflineBlobs("files", WebDAV(folder: "/"), of: store, in: try container()) {
            let response = try await client.stream($0, body: $1, receiving: $2)
            return (response.head, response.body)
        }
    }
    // snippet.end

    static func report(_ completed: Int, _ total: Int?) {
        let line = "\(completed) of \(total.map(String.init) ?? "?")\n"
        // Ignore errors, since standard error may be closed.
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
    }

    static func main() async {
        do {
            var command = try await asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as AccountError {
            // Ignore errors, since standard error may be closed.
            try? FileHandle.standardError.write(contentsOf: Data("webdav: \(error)\n".utf8))
            exit(withError: ExitCode(error.exitCode))
        } catch {
            exit(withError: error)
        }
    }
}

/// Prints the number of bytes, the ETag, and the peak memory in KiB.
struct Get: AsyncParsableCommand {
    @Argument var id: String
    @Option var owner = "tests"
    @Option var output: String?
    @Flag var refresh = false

    func run() async throws {
        let blobs = try await WebDAVTool.blobs()
        // snippet.get
        let blob =
            refresh
            ? try await blobs.refresh(id, owner: owner, progress: WebDAVTool.report)
            : try await blobs.blob(id, owner: owner, progress: WebDAVTool.report)
        if let output { try await blob.export(to: output) }
        // snippet.end
        print(blob.byteCount, blob.entityTag ?? "-", Peak.memory())
    }
}

/// Prints the new ETag and the peak memory in KiB.
struct Put: AsyncParsableCommand {
    @Argument var file: String
    @Argument var id: String
    @Option var owner = "tests"
    @Option var ifMatch: String?
    @Flag var ifAbsent = false

    func run() async throws {
        // snippet.put
        let condition: BlobCondition = ifAbsent ? .absent : ifMatch.map { .unchanged(entityTag: $0) } ?? .always
        let tag = try await WebDAVTool.blobs().upload(
            contentsOf: file, as: id, owner: owner, if: condition, progress: WebDAVTool.report)
        // snippet.end
        print(tag ?? "-", Peak.memory())
    }
}

struct Forget: AsyncParsableCommand {
    @Argument var owner: String

    func run() async throws { try await WebDAVTool.blobs().remove(ownedBy: owner) }
}

private enum Peak {
    /// The value of `VmHWM` (proc(5)) in KiB, or -1 if the file does not exist.
    static func memory() -> Int {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return -1 }
        return line.split(separator: " ").dropLast().last.flatMap { Int($0) } ?? -1
    }
}
