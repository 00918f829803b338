import AccountKit
import AccountTesting
import Foundation
import TestScene
import Testing

@testable import AccountDocuments

/// Documents that are sealed for a user, and moving plain documents into them.
struct SealedDocumentTests {
    private static let marker = "MARKER-51c0de"
    private let scene: TestScene
    private let container: AppContainer

    init() async throws {
        scene = try await TestScene()
        container = try AppContainer(root: scene.root, identifier: "com.example.notes")
    }

    private func sealed() async throws -> DocumentArchive<[Note]> {
        try await DocumentArchive("Notes", of: scene.store, in: container) { $0.compactMap(\.file) }
    }

    private func plain() throws -> DocumentArchive<[Note]> {
        try DocumentArchive("Notes", in: container) { $0.compactMap(\.file) }
    }

    private func isSealed() async throws -> Bool {
        try await DocumentArchive<[Note]>.isSealed("Notes", in: container, for: scene.store)
    }

    /// Creates a source file outside of the searched folders. Its name contains the marker, too.
    private func source() throws -> String {
        let path = FileManager.default.temporaryDirectory.path + "/\(Self.marker)-\(UUID().uuidString)"
        try Data(repeatElement(Array(Self.marker.utf8), count: 8000).joined()).write(to: URL(filePath: path))
        return path
    }

    private func add(_ text: String, to archive: DocumentArchive<[Note]>) async throws {
        let source = try source()
        defer { try? FileManager.default.removeItem(atPath: source) }
        let file = try await archive.stage(contentsOf: source)
        try await archive.change(from: [], adding: [file]) { $0.append(Note(text: text, file: file.id)) }
    }

    private func content(of note: Note, in archive: DocumentArchive<[Note]>) async throws -> Data {
        let copy = FileManager.default.temporaryDirectory.path + "/copy-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: copy) }
        try await archive.exportFile(try #require(note.file), to: copy)
        return try Data(contentsOf: URL(filePath: copy))
    }

    /// Moves the plain document's content, as an app would.
    @discardableResult
    private func move() async throws -> Int? {
        try await sealed().moveContents(of: try plain(), from: []) { notes, others in
            notes += others.filter { !notes.contains($0) }
            return others.count
        }
    }

    @Test @MainActor func `Moves a plain document's content on the caller's actor`() async throws {
        try await plain().change(from: []) { $0.append(Note(text: "first")) }
        try await sealed().moveContents(of: try plain(), from: []) { notes, others in
            // Ends the process on another executor.
            MainActor.assertIsolated()
            notes = others
        }
        #expect(try await sealed().read()?.count == 1)
    }

    // MARK: The user

    @Test func `Opens a sealed document only for its user`() async throws {
        #expect(try await !isSealed())
        let archive = try await sealed()
        #expect(try archive.read() == nil)
        #expect(try !archive.exists())
        #expect(try await !isSealed(), "reading creates nothing")
        try await add(Self.marker, to: archive)
        #expect(try await isSealed())
        #expect(try archive.exists())
        #expect(try scene.files(with: Self.marker) == [])
        #expect(try !plain().exists())

        try await scene.signIn("bob")
        let bobs = try await sealed()
        #expect(try bobs.path != archive.path && bobs.read() == nil)
        try await add("bob's", to: bobs)
        await #expect(code { try await archive.change(from: []) { $0.removeAll() } } == .notSignedIn)

        try await scene.signIn("248289761001")
        let again = try await sealed()
        let notes = try again.read() ?? []
        #expect(notes.map(\.text) == [Self.marker])
        #expect(
            try await content(of: notes[0], in: again)
                == Data(repeatElement(Array(Self.marker.utf8), count: 8000).joined()))
    }

    @Test func `Keeps a sealed document if the service ends the session`() async throws {
        try await add("kept", to: sealed())
        await scene.endSession()
        await #expect(code { _ = try await sealed() } == .notSignedIn)
        #expect(try await isSealed())
        try await scene.signIn("248289761001")
        #expect(try await sealed().read()?.map(\.text) == ["kept"])
    }

    @Test func `Destroys a sealed document on sign-out after a warning`() async throws {
        let archive = try await sealed()
        #expect(try plain().linkedStorage { _ in "everything" } == nil)
        let data = try #require(archive.linkedStorage { $0.isEmpty ? nil : "\($0.count) notes" })
        #expect(try await data.unsentWork() == nil)
        try await add("lost", to: archive)
        #expect(try await data.unsentWork() == "1 notes")

        try await scene.store.signOut()
        #expect(try await !isSealed(), "leftover files do not count")
        let left = scene.files
        #expect(left.contains(archive.path))
        await #expect(code { try await archive.change(from: []) { $0.removeAll() } } == .notSignedIn)
        #expect(scene.files == left)
        await data.remove()
        #expect(scene.files == [])
        try await scene.signIn("248289761001")
        #expect(try await sealed().read() == nil)
    }

    // MARK: From plain text

    @Test func `Moves a plain document with its files into the sealed one`() async throws {
        try await add(Self.marker, to: plain())
        try await add("second", to: plain())
        let before = try #require(try plain().read())
        #expect(try scene.files(with: Self.marker).count == 3)

        #expect(try await move() == 2)
        let archive = try await sealed()
        #expect(try archive.read() == before)
        for note in before { #expect(try await content(of: note, in: archive).count == 8000 * Self.marker.utf8.count) }
        #expect(try scene.files(with: Self.marker) == [])
        #expect(try !plain().exists())
        #expect(try await move() == nil)
        #expect(try archive.read() == before)
    }

    @Test func `Merges a plain document into an existing sealed document`() async throws {
        try await add("sealed", to: sealed())
        try await add("plain", to: plain())
        #expect(try await move() == 1)
        let archive = try await sealed()
        let notes = try #require(try archive.read())
        #expect(notes.map(\.text) == ["sealed", "plain"])
        for note in notes { #expect(try await !content(of: note, in: archive).isEmpty) }
    }

    @Test func `Repeats an interrupted move of a document without duplicates`() async throws {
        try await add("first", to: plain())
        try await add("second", to: plain())
        let before = try #require(try plain().read())
        let (document, files) = (scene.root + "/Documents/Notes.plist", scene.root + "/Documents/Notes")
        let copy = scene.root + "/copy"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        for path in [document, files] {
            try FileManager.default.copyItem(atPath: path, toPath: copy + "/" + path.split(separator: "/").last!)
        }
        try await move()

        // A crash before the plain document was changed, and one after it was emptied but still had its files.
        for isEmpty in [false, true] {
            try? FileManager.default.removeItem(atPath: files)
            try FileManager.default.copyItem(atPath: copy + "/Notes", toPath: files)
            try FileManager.default.copyItem(atPath: copy + "/Notes.plist", toPath: document)
            if isEmpty { try PropertyListEncoder().encode([Note]()).write(to: URL(filePath: document)) }
            #expect(try await move() == (isEmpty ? 0 : 2))
            let archive = try await sealed()
            #expect(try archive.read() == before)
            for note in before { #expect(try await !content(of: note, in: archive).isEmpty) }
            #expect(try !plain().exists())
        }
    }

    @Test func `Leaves the plain document unchanged if the move fails`() async throws {
        struct Refused: Error {}
        try await add("kept", to: plain())
        let (archive, other) = (try await sealed(), try plain())
        await #expect(throws: Refused.self) {
            try await archive.moveContents(of: other, from: []) { _, _ in throw Refused() }
        }
        #expect(try !archive.exists())
        await #expect(code { try await archive.moveContents(of: archive, from: []) { _, _ in } } == .invalidArgument)

        let notes = try #require(try other.read())
        let file = scene.root + "/Documents/Notes/" + notes[0].file!
        let content = try scene.bytes(file)
        try FileManager.default.removeItem(atPath: file)
        await #expect(code { try await move() } == .damaged)
        #expect(try archive.read() == [])
        #expect(try other.read() == notes)
        try content.write(to: URL(filePath: file))
        #expect(try await move() == 1)
        #expect(try archive.read() == notes)

        // A missing document whose files exist is damaged, not absent.
        try await add("another", to: other)
        try FileManager.default.removeItem(atPath: scene.root + "/Documents/Notes.plist")
        await #expect(code { try await move() } == .damaged)
    }

    /// Another program may have changed the plain document.
    @Test func `Removes only its own files if a moved document names another path`() async throws {
        try await add("sealed", to: sealed())
        try await add("plain", to: plain())
        let document = scene.root + "/Documents/Notes.plist"
        try PropertyListEncoder().encode([Note(text: "odd", file: "../Notes.plist")])
            .write(to: URL(filePath: document))
        await #expect(code { try await move() } == .damaged)
        #expect(try await sealed().read()?.map(\.text) == ["sealed"])
        #expect(try plain().read()?.map(\.text) == ["odd"])
    }

    @Test func `Moves no plain document after a sign-out`() async throws {
        try await add("kept", to: plain())
        let (archive, other) = (try await sealed(), try plain())
        try await scene.store.signOut()
        await #expect(code { try await archive.moveContents(of: other, from: []) { $0 += $1 } } == .notSignedIn)
        #expect(try other.read()?.map(\.text) == ["kept"])
        #expect(try !archive.exists())
    }
}
