import AccountTesting
import AccountCrypto
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import AccountKit
import AccountSupport

struct EnvironmentKeyTests {
    private static let bytes = [UInt8](0..<32)
    private static let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private func source(_ environment: [String: String]) -> EnvironmentKey {
        EnvironmentKey(variable: "GISTS_KEY", credential: "gists.key") { environment[$0] }
    }

    private func content(of key: ArchiveKey?) -> [UInt8]? {
        guard case .key(let bytes)? = key?.opener else { return nil }
        return bytes.withUnsafeBytes { Array($0) }
    }

    /// A credentials directory in the format of systemd.
    private func withCredential(_ content: [UInt8], _ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "credentials-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(content).write(to: folder.appending(path: "gists.key"))
        try await body(folder.path(percentEncoded: false))
    }

    @Test func `Prefers a key in the environment variable to the credential file`() async throws {
        #expect(content(of: try await source(["GISTS_KEY": Self.text]).key()) == Self.bytes)
        try await withCredential([UInt8](repeating: 9, count: 32)) { folder in
            let both = source(["GISTS_KEY": Self.text, "CREDENTIALS_DIRECTORY": folder])
            let key = try await both.key()
            #expect(content(of: key) == Self.bytes)
        }
    }

    @Test func `Reads a credential file of 32 bytes or of a key in base64`() async throws {
        for content in [Self.bytes, Array((Self.text + "\n").utf8)] {
            try await withCredential(content) { folder in
                let source = source(["CREDENTIALS_DIRECTORY": folder])
                for key in [try await source.key(), try await source.makeKey()] {
                    #expect(self.content(of: key) == Self.bytes)
                }
            }
        }
    }

    @Test func `Reads a credential file through a symbolic link, as in Kubernetes`() async throws {
        try await withCredential(Self.bytes) { folder in
            try FileManager.default.moveItem(atPath: folder + "/gists.key", toPath: folder + "/..2026")
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/gists.key", withDestinationPath: "..2026")
            #expect(content(of: try await source(["CREDENTIALS_DIRECTORY": folder]).key()) == Self.bytes)
        }
    }

    @Test func `Ignores a missing environment key, and refuses to create the key`() async throws {
        for environment in [[:], ["CREDENTIALS_DIRECTORY": "/nonexistent"]] {
            let key = try await source(environment).key()
            #expect(key == nil)
            await expectAccountError(.misconfigured) { try await source(environment).makeKey() }
        }
    }

    @Test(arguments: ["password", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==", " "])
    func `Names the location of an invalid key, and hides the key`(text: String) async throws {
        let error = await #expect(throws: AccountError.self) { try await source(["GISTS_KEY": text]).key() }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.hasPrefix("GISTS_KEY: ") == true)
        #expect(text == " " || error?.description.contains(text) == false)
        try await withCredential(Array(text.utf8)) { folder in
            let source = source(["CREDENTIALS_DIRECTORY": folder])
            let error = await #expect(throws: AccountError.self) { try await source.key() }
            #expect(error?.code == .misconfigured)
            #expect(error?.message.hasPrefix(folder) == true)
        }
    }
}
