import AccountKit
import Foundation
import AccountCrypto
import Testing

@testable import AccountDocuments

struct DocumentArchiveTests {
    private let folder: DocumentFolder

    init() throws { folder = try DocumentFolder() }

    // MARK: Content

    @Test(arguments: [false, true], [DocumentFormat.binary, .xml])
    func `Saves a document in a private file and reads the same content`(
        isSealed: Bool, format: DocumentFormat
    ) async throws {
        let archive = try folder.archive(sealed: isSealed, format: format)
        #expect(try archive.read() == nil)
        #expect(folder.names(in: folder.root) == [], "reading creates nothing")
        let count = try await archive.change(from: [Note(text: "first")]) { notes in
            notes.append(Note(text: "Bär"))
            return notes.count
        }
        #expect(count == 2)
        #expect(try folder.archive(sealed: isSealed).read()?.map(\.text) == ["first", "Bär"])
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.document)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(folder.names(in: folder.documents) == ["Notes.lock", "Notes.plist"])
        // Both documents are property lists, but only the plain document is legible.
        let bytes = try folder.bytes(folder.document)
        #expect((try? PropertyListSerialization.propertyList(from: Data(bytes), format: nil)) != nil)
        #expect(bytes.starts(with: format == .xml && !isSealed ? "<?xml".utf8 : "bplist00".utf8))
        #expect(bytes.firstRange(of: Array("first".utf8)) == nil || !isSealed)
    }

    @Test @MainActor func `Runs a document change on the caller's actor`() async throws {
        let archive = try folder.archive()
        try await archive.change(from: []) { notes in
            // Ends the process on another executor.
            MainActor.assertIsolated()
            notes.append(Note(text: "first"))
        }
        #expect(try archive.read()?.count == 1)
    }

    @Test func `Keeps the document if the body of a change throws`() async throws {
        struct Refused: Error {}
        let archive = try folder.archive()
        try await archive.change(from: []) { $0.append(Note(text: "kept")) }
        let before = try folder.bytes(folder.document)
        await #expect(throws: Refused.self) {
            try await archive.change(from: []) { notes in
                notes.removeAll()
                throw Refused()
            }
        }
        #expect(try folder.bytes(folder.document) == before)
    }

    @Test func `Saves a hundred concurrent document changes from a hundred archives`() async throws {
        let folder = folder
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    try await folder.archive().change(from: [], timeout: .seconds(60)) {
                        $0.append(Note(text: "\(number)"))
                    }
                }
            }
            try await group.waitForAll()
        }
        let texts = try folder.archive().read()?.map(\.text) ?? []
        #expect(Set(texts) == Set((0..<100).map(String.init)) && texts.count == 100)
    }

    @Test func `Times out a change, but no read, while another caller holds the lock`() async throws {
        let archive = try folder.archive()
        try await archive.change(from: []) { $0.append(Note(text: "kept")) }
        do {
            let lock = try FileLock(folder.documents + "/Notes.lock")
            #expect(try lock.tryTake())
            await #expect(
                code { try await archive.change(from: [], timeout: .milliseconds(20)) { $0.removeAll() } } == .busy)
            #expect(try archive.read()?.count == 1)
        }
        try await archive.change(from: []) { $0.removeAll() }
    }

    @Test(arguments: [
        "", "a.b", "a/b", "..", "Account", "account", "SignOut", "Refresh", "Revocation-1", "Offline", "Offline-1",
        "Sessions",
    ])
    func `Refuses a document name that is reserved or is not a file name`(name: String) async throws {
        let folder = folder
        await #expect(
            code { _ = try DocumentArchive<[Note]>(name, in: AppContainer(root: folder.root, identifier: "test")) }
                == .invalidArgument)
    }

    // MARK: Unreadable documents

    @Test(arguments: [
        "", "nonsense", "bplist00", "<?xml version=\"1.0\"?><plist><array>", "<plist><string>text</string></plist>",
    ])
    func `Reports a damaged document and never overwrites the document`(content: String) async throws {
        let archive = try folder.archive()
        try await archive.change(from: []) { $0.append(Note(text: "lost")) }
        try folder.write(content.utf8, to: folder.document)
        await #expect(code { _ = try archive.read() } == .damaged)
        await #expect(code { try await archive.change(from: []) { $0.append(Note(text: "new")) } } == .damaged)
        #expect(try folder.bytes(folder.document) == Array(content.utf8))
        #expect(folder.names(in: folder.documents) == ["Notes.lock", "Notes.plist"])
    }

    @Test func `Names the position of an error in a document, but no content`() async throws {
        try await folder.archive().change(from: []) { $0.append(Note(text: "right")) }
        try folder.write(
            "<plist><array><dict><key>text</key><integer>4711</integer></dict></array></plist>".utf8,
            to: folder.document)
        let error = #expect(throws: AccountError.self) { try folder.archive().read() }
        let message = "\(try #require(error))"
        #expect(message.contains("at 1, text") && !message.contains("4711"), "\(message)")
    }

    @Test func `Neither reads nor replaces a link in place of a document`() async throws {
        let archive = try folder.archive()
        try await archive.change(from: []) { $0.append(Note(text: "kept")) }
        try FileManager.default.moveItem(atPath: folder.document, toPath: folder.root + "/elsewhere")
        try FileManager.default.createSymbolicLink(
            atPath: folder.document, withDestinationPath: folder.root + "/elsewhere")
        let before = try folder.bytes(folder.root + "/elsewhere")
        await #expect(code { _ = try archive.read() } == .inaccessible)
        await #expect(code { try await archive.change(from: []) { $0.removeAll() } } == .inaccessible)
        #expect(try folder.bytes(folder.root + "/elsewhere") == before)
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: folder.document) == folder.root + "/elsewhere")
    }

    @Test func `Refuses a document folder that others can write to`() async throws {
        let archive = try folder.archive()
        try await archive.change(from: []) { $0.append(Note(text: "kept")) }
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.documents)
        await #expect(code { _ = try archive.read() } == .insecureContainer)
        await #expect(code { try await archive.change(from: []) { $0.removeAll() } } == .insecureContainer)
    }

    @Test func `Reports a document that is too large and leaves the file unchanged`() async throws {
        let archive = try folder.archive()
        try await archive.change(from: []) { $0.append(Note(text: "kept")) }
        let size = DocumentArchive<[Note]>.maximumByteCount + 1
        #expect(truncate(folder.document, size) == 0)
        await #expect(code { _ = try archive.read() } == .tooLarge)
        await #expect(code { try await archive.change(from: []) { $0.removeAll() } } == .tooLarge)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.document)
        #expect(attributes[.size] as? Int == size)
    }

    @Test func `Reports a file in place of the document folder`() async throws {
        let folder = folder
        try folder.write([1], to: folder.documents)
        await #expect(code { _ = try folder.archive().read() } == .inaccessible)
        await #expect(code { try await folder.archive().change(from: []) { _ in } } == .inaccessible)
    }

    @Test func `Refuses to save a document that could not be read again`() async throws {
        let archive = try folder.archive()
        try await archive.change(from: []) { $0.append(Note(text: "kept")) }
        // The property-list decoder reads this text as nil.
        await #expect(
            code { try await archive.change(from: []) { $0.append(Note(text: "$null")) } } == .invalidArgument)
        #expect(try archive.read() == [Note(text: "kept")])
    }

    // MARK: Sealed documents

    @Test func `Opens a sealed document only with its key, and rejects a replacement`() async throws {
        let (sealed, plain, other) = (try folder.archive(sealed: true), try folder.archive(), try DocumentFolder())
        try await sealed.change(from: []) { $0.append(Note(text: "secret")) }
        await #expect(code { _ = try plain.read() } == .noKey)
        await #expect(code { try await plain.change(from: []) { $0.removeAll() } } == .noKey)
        // Open the file with another key and as another document.
        let bytes = try folder.bytes(folder.document)
        try await other.archive(sealed: true).change(from: []) { _ in }
        try other.write(bytes, to: other.document)
        await #expect(code { _ = try other.archive(sealed: true).read() } == .wrongKeyOrDamaged)
        var changed = bytes
        changed[bytes.count / 2] ^= 1
        try folder.write(changed, to: folder.document)
        await #expect(code { _ = try sealed.read() } == .wrongKeyOrDamaged)
        try folder.write(PropertyListDocument.encode([Note(text: "planted")], format: .xml), to: folder.document)
        await #expect(code { _ = try sealed.read() } == .wrongKeyOrDamaged)
    }

    @Test func `Does not decode a sealed document as a plain one without fields`() async throws {
        struct Settings: Codable { var theme: String? }
        let folder = folder
        try await folder.archive(sealed: true).change(from: []) { $0.append(Note(text: "secret")) }
        let settings = try DocumentArchive<Settings>("Notes", in: AppContainer(root: folder.root, identifier: "test"))
        await #expect(code { _ = try settings.read() } == .noKey)
        await #expect(code { try await settings.change(from: Settings()) { _ in } } == .noKey)
        #expect(try folder.archive(sealed: true).read() == [Note(text: "secret")])
    }

    // MARK: Leftovers

    @Test func `Removes only the document's own temporary files after a crash`()
        async throws
    {
        let archive = try folder.archive()
        try await archive.change(from: []) { _ in }
        let others = [".Account.plist.0123456789abcdef.tmp", ".Others.0123456789abcdef.tmp", ".Notes.x.tmp"]
        for name in others + [".Notes.0123456789abcdef.tmp"] {
            try folder.write([1], to: folder.documents + "/" + name)
        }
        try await archive.change(from: []) { _ in }
        #expect(Set(folder.names(in: folder.documents)) == Set(others + ["Notes.lock", "Notes.plist"]))
        // The account's cleanup does not remove the document's files either.
        try folder.write([1], to: folder.documents + "/.Notes.0123456789abcdef.tmp")
        let storage = FileArchiveStorage(container: try AppContainer(root: folder.root, identifier: "notes"))
        let transaction = try await storage.beginTransaction(timeout: .seconds(60))
        _ = try await transaction.replace(.signOut, with: [1], ifRevision: nil)
        await transaction.end()
        let names = folder.names(in: folder.documents)
        #expect(names.contains(".Notes.0123456789abcdef.tmp") && !names.contains(others[0]))
    }

    // MARK: Documents for other programs

    @Test func `Writes and reads a document at any path`() async throws {
        let path = folder.root + "/export.plist"
        try await DocumentArchive<[Note]>.write([Note(text: "a")], to: path)
        #expect(try DocumentArchive<[Note]>.read(from: path) == [Note(text: "a")])
        #expect(folder.names(in: folder.root) == ["export.plist"])
        await #expect(code { try await DocumentArchive<[Note]>.write([], to: folder.root) } == .inaccessible)
        await #expect(code { _ = try DocumentArchive<[Note]>.read(from: folder.root) } == .inaccessible)
        await #expect(code { _ = try DocumentArchive<[Note]>.read(from: path + "x") } == .inaccessible)
        try folder.write("nonsense".utf8, to: path)
        await #expect(code { _ = try DocumentArchive<[Note]>.read(from: path) } == .damaged)
    }
}
