import AccountKit
import AccountTesting
import BoundedWaiting
import Foundation
import AccountCrypto
import Testing

@Suite struct KeyFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var keys: String { folder.path + "/Library/Keys" }
    private var path: String { keys + "/Account.key" }
    private var keyFile: KeyFile { get throws { KeyFile(container: try folder.container()) } }

    private static func content(of key: ArchiveKey?) -> [UInt8]? {
        guard case .key(let bytes)? = key?.opener else { return nil }
        return bytes.withUnsafeBytes { Array($0) }
    }

    /// Creates a key file of the given length from equal bytes.
    private func write(byteCount: Int, permissions: Int = 0o600) throws {
        try folder.make(keys)
        try Data(repeating: 7, count: byteCount).write(to: URL(filePath: path))
        try folder.setPermissions(permissions, of: path)
    }

    @Test func `Does not create a missing key file when reading`() async throws {
        #expect(try await keyFile.key() == nil)
        #expect(!FileManager.default.fileExists(atPath: keys))
    }

    @Test func `Creates one key file for concurrent processes`() throws {
        let processes = try (0..<20).map { _ in try Exerciser.start(Exerciser.path, [path, "make-key"]) }
        for (process, pipe) in processes {
            try process.waitForEnd()
            let output = try pipe.fileHandleForReading.allBytes()
            #expect(String(decoding: output, as: UTF8.self) == "made\n")
        }
        try expectOneKeyFile()
    }

    private func expectOneKeyFile() throws {
        #expect(try folder.bytes(path).count == 32)
        #expect(try folder.permissions(path) == 0o600)
        #expect(try folder.permissions(keys) == 0o700)
        #expect(try folder.names(in: keys) == ["Account.key"], "nothing is left behind")
    }

    @Test func `Creates one key for each container`() async throws {
        let first = Self.content(of: try await keyFile.makeKey())
        #expect(first?.count == 32)
        #expect(Self.content(of: try await keyFile.makeKey()) == first)
        #expect(Self.content(of: try await keyFile.key()) == first)
        let other = try TemporaryFolder()
        #expect(Self.content(of: try await KeyFile(container: other.container()).makeKey()) != first)
    }

    @Test(arguments: [0, 1, 31, 33, 64, 4096, 1024 * 1024])
    func `Reports a key file of another length as damaged and keeps the file`(byteCount: Int) async throws {
        try write(byteCount: byteCount)
        await expectAccountError(.damaged) { try await keyFile.key() }
        await expectAccountError(.damaged) { try await keyFile.makeKey() }
        #expect(try folder.bytes(path) == Data(repeating: 7, count: byteCount))
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o602, 0o620, 0o610, 0o601, 0o644, 0o777])
    func `Refuses a key file that others can use and names the fix`(permissions: Int) async throws {
        try write(byteCount: 32, permissions: permissions)
        let error = await expectAccountError(.insecureContainer) { try await keyFile.key() }
        #expect(error?.description.contains("chmod 600 \(path)`") == true)
        await expectAccountError(.insecureContainer) { try await keyFile.makeKey() }
        #expect(try folder.permissions(path) == permissions)
    }

    @Test(arguments: [0o600, 0o400, 0o700]) func `Accepts a key file that only its owner can use`(permissions: Int)
        async throws
    {
        try write(byteCount: 32, permissions: permissions)
        #expect(Self.content(of: try await keyFile.key()) == [UInt8](repeating: 7, count: 32))
    }

    @Test func `Refuses a key file that belongs to another user`() async throws {
        try write(byteCount: 32)
        // A user who is not root uses a file of root.
        let isRoot = geteuid() == 0
        if isRoot { #expect(chown(path, 65534, 65534) == 0) }
        let error = await expectAccountError(.insecureContainer) {
            try await KeyFile(path: isRoot ? path : "/etc/passwd").key()
        }
        #expect(error?.description.contains("belongs to \(SystemCall.userName(isRoot ? 65534 : 0)),") == true)
    }

    @Test(arguments: ["a link", "a dangling link", "a pipe", "a folder"])
    func `Refuses a link, a pipe or a folder as key file, and follows no link`(what: String) async throws {
        try write(byteCount: 32)
        let target = folder.path + "/target"
        try FileManager.default.moveItem(atPath: path, toPath: target)
        switch what {
        case "a link": #expect(symlink(target, path) == 0)
        case "a dangling link": #expect(symlink(target + "-nowhere", path) == 0)
        case "a pipe": #expect(mkfifo(path, 0o600) == 0)
        default: try folder.make(path)
        }
        let before = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64
        await expectAccountError(.inaccessible) { try await keyFile.key() }
        await expectAccountError(.inaccessible) { try await keyFile.makeKey() }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64 == before)
        #expect(try folder.names(in: keys) == ["Account.key"])
        #expect(!FileManager.default.fileExists(atPath: target + "-nowhere"))
    }

    @Test func `Creates no key file in a folder that others can write to`() async throws {
        try folder.make(keys)
        try folder.setPermissions(0o777, of: keys)
        await expectAccountError(.insecureContainer) { try await keyFile.makeKey() }
        #expect(try folder.names(in: keys).isEmpty)
    }

    @Test func `Opens an archive again after a missing or wrong key is corrected`() async throws {
        let store = AccountStore(container: try folder.container())
        try Exerciser.run(folder, "sign-in")
        let right = try folder.bytes(path)
        func expect(_ code: AccountError.Code) async throws {
            #expect(await AccountStore(container: try folder.container()).load() == .unreadable(AccountError(code, "")))
        }
        try FileManager.default.removeItem(atPath: path)
        try await expect(.noKey)
        await expectAccountError(.noKey) { try await store.update { _ in } }
        #expect(!FileManager.default.fileExists(atPath: path), "only a sign-in creates a key")
        try write(byteCount: 32)
        try await expect(.wrongKeyOrDamaged)
        try write(byteCount: 31)
        try await expect(.damaged)
        try right.write(to: URL(filePath: path))
        #expect(await store.load().account?.username == "alice")
    }
}
