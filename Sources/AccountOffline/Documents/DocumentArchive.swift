#if Offline
public import AccountKit
package import AccountCrypto

/// A document of the app in `Documents`: one `Codable` value in a property list, with attached files.
///
/// ```swift
/// let archive = try DocumentArchive<[Note]>("Notes", in: container)
/// try await archive.change(from: []) { $0.append(note) }
/// for note in try archive.read() ?? [] { print(note.title) }
/// ```
///
/// A change survives a crash and a power cut when ``change(from:adding:timeout:isolation:_:)`` has returned. It changes the stored document
/// under a lock, so two processes do not lose each other's changes. A document that cannot be read is an error. It is never treated as
/// empty and never overwritten.
///
/// A tool that changes the document before it confirms a command has nothing to save when a signal ends it. A tool that edits in memory saves
/// with a change on request and in its signal handler.
///
/// A document is loaded into memory and has at most 64 MiB. Photos and other large data are separate files, `Notes/<id>`, which the document
/// names by their ids; see ``stage(contentsOf:)``.
public struct DocumentArchive<Value: Codable & Sendable>: Sendable {
    /// The maximum size of a document: 64 MiB.
    public static var maximumByteCount: Int { 64 << 20 }

    /// Returns the ids of the files that a document names.
    public typealias FileIDs = @Sendable (_ value: Value) -> [String]

    /// The path of the document.
    public let path: String

    let storage: FileArchiveStorage
    let entry: ArchiveEntry
    let codec: DocumentCodec<Value>
    let attachments: (files: DocumentFiles, ids: FileIDs)?

    /// The user of the document, if it is encrypted.
    let owner: (store: AccountStore, key: OfflineKey)?

    /// Opens a document without encryption, `<name>.plist`.
    ///
    /// - Parameters:
    ///   - name: The name: 1 to 64 letters, digits, underscores or hyphens, and not a name of the account's files, such as `Account`.
    ///   - container: The folders of the app.
    ///   - format: The format of the property list for writing. Both formats can be read.
    ///   - files: Returns the files that a document names. Each change removes files that are no longer named.
    /// - Throws: `invalidArgument` for another name.
    public init(
        _ name: String, in container: AppContainer, format: DocumentFormat = .binary, files: FileIDs? = nil
    ) throws(AccountError) {
        try self.init(
            name, folder: container.documentsPath, root: container.root, format: format, seal: nil, files: files)
    }

    /// - Parameters:
    ///   - folder: `root` or a folder below.
    ///   - root: The folder that must belong to the user, with all folders below it.
    ///   - seal: Encrypts the document and its files; `nil` for no encryption.
    package init(
        _ name: String, folder: String, root: String, format: DocumentFormat, seal: RowSeal?, files: FileIDs?
    ) throws(AccountError) {
        try self.init(name, folder: folder, root: root, format: format, seal: seal, files: files, owner: nil)
    }

    init(
        _ name: String, folder: String, root: String, format: DocumentFormat, seal: RowSeal?, files: FileIDs?,
        owner: (store: AccountStore, key: OfflineKey)?
    ) throws(AccountError) {
        guard Self.isName(name) else {
            throw AccountError(
                .invalidArgument,
                "\"\(name)\" is not a document's name: use 1 to 64 letters, digits, underscores or hyphens, and no name of "
                    + "the account's own")
        }
        storage = FileArchiveStorage(
            document: name, folder: folder, root: root, maximumByteCount: Self.maximumByteCount)
        entry = ArchiveEntry(rawValue: name + ".plist")
        path = folder + "/" + entry.rawValue
        codec = DocumentCodec(path: path, name: name, format: format, seal: seal)
        attachments = files.map { (DocumentFiles(folder: folder + "/" + name, root: root, name: name, seal: seal), $0) }
        self.owner = owner
    }

    private static func isName(_ name: String) -> Bool {
        // What AccountKit keeps in the same folder, with or without a number. Some file systems do not tell capitals from
        // small letters.
        let own = ["account", "offline", "refresh", "revocation", "sessions", "signout"]
        let isOwn = own.contains { name.lowercased() == $0 || name.lowercased().hasPrefix($0 + "-") }
        return (1...64).contains(name.utf8.count) && !isOwn
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    // MARK: Reading and changing

    /// Whether there is a document, or are files of one that is gone; whether they can be read is another question.
    ///
    /// - Throws: `inaccessible` or `insecureContainer` if it could not be looked at.
    public func exists() throws(AccountError) -> Bool {
        try storage.checkTrust()
        if try mapping(path, { () throws(SystemCallError) in try SystemCall.status(path) }) != nil { return true }
        return try attachments?.files.hasFiles() ?? false
    }

    /// Reads the document as it is now, without waiting for anybody.
    ///
    /// - Returns: `nil` if there is none yet.
    /// - Throws: `damaged` if there is one that cannot be read, or if there are files of one that is gone; `inaccessible`,
    ///   `insecureContainer` or `tooLarge` if it could not be looked at; `noKey` or `authenticationFailed` if it is sealed and does
    ///   not open. Nothing is changed.
    public func read() throws(AccountError) -> Value? {
        if let stored = try storage.read(entry) { return try codec.decode(stored.bytes) }
        guard let attachments, try attachments.files.hasFiles() else { return nil }
        // A document is there before its first file, so another process may have made it just now.
        guard let stored = try storage.read(entry) else { throw missing(attachments.files) }
        return try codec.decode(stored.bytes)
    }

    /// Changes the document: reads it, lets `body` change the value, and saves that, all under the document's lock.
    ///
    /// After an error the document is as it was before, whatever went wrong, with one exception: `durabilityUnknown` means that
    /// it was saved, but that the disk did not confirm that it survives a power cut.
    ///
    /// - Parameters:
    ///   - initial: What to begin with if there is no document yet.
    ///   - files: What was staged, and is now named by the document. One that is not named is removed; after an error all are.
    ///   - timeout: How long to wait for other processes.
    ///   - isolation: The actor to run on; the caller's.
    ///   - body: Changes the value. Other processes wait for it, so it must not wait for anything itself. If it throws, nothing
    ///     is changed.
    /// - Returns: What `body` returns.
    /// - Throws: What ``read()`` throws; `busy` after the timeout; `inaccessible` if it cannot be saved, as on a full disk;
    ///   `tooLarge`; `invalidArgument` if the value could not be read back from a property list, or if it names a file that is
    ///   not there; `notSignedIn` if it is sealed for a user who has signed out meanwhile; what `body` throws.
    @discardableResult
    public func change<Result>(
        from initial: Value, adding files: [StagedFile] = [], timeout: Duration = .seconds(10),
        isolation: isolated (any Actor)? = #isolation, _ body: (inout Value) throws -> Result
    ) async throws -> Result {
        // Not only when the last reference to one is dropped: the process may end before that.
        defer { for file in files { file.discard() } }
        let transaction = try await storage.beginTransaction(timeout: timeout)
        do {
            let result = try await change(from: initial, adding: files, in: transaction, body)
            await transaction.end()
            return result
        } catch {
            await transaction.end()
            throw error
        }
    }

    private func change<Result>(
        from initial: Value, adding files: [StagedFile], in transaction: any ArchiveTransaction,
        isolation: isolated (any Actor)? = #isolation, _ body: (inout Value) throws -> Result
    ) async throws -> Result {
        try await checkIsOwners()
        let stored = try await transaction.read(entry)
        var revision = stored?.revision
        var value = try stored.map { try codec.decode($0.bytes) } ?? initial
        if stored == nil, let attachments {
            if try attachments.files.hasFiles() { throw missing(attachments.files) }
            // So that files without a document are never what a process that died has left behind.
            if !files.isEmpty {
                revision = try await transaction.replace(entry, with: codec.encode(value), ifRevision: nil).revision
            }
        }
        let before = Set(attachments?.ids(value) ?? [])
        let result = try body(&value)
        let after = Set(attachments?.ids(value) ?? [])
        let bytes = try codec.encode(value)

        let receipt: ArchiveReceipt
        do {
            if let folder = attachments?.files {
                let added = files.filter { after.contains($0.id) }
                try await BlockingWork.run { () throws(AccountError) in
                    try folder.commit(added)
                    try folder.check(after.subtracting(before))
                }
            }
            receipt = try await transaction.replace(entry, with: bytes, ifRevision: revision)
        } catch {
            // What cannot be removed now is removed by the next change.
            try? await remove(Set(files.map(\.id)), in: transaction)
            throw error
        }
        try check(receipt.durability)
        if let folder = attachments?.files { await BlockingWork.run { folder.sweep(keeping: after) } }
        return result
    }

    func check(_ durability: ArchiveReceipt.Durability) throws(AccountError) {
        if case .unknown(let reason) = durability {
            throw AccountError(
                .durabilityUnknown,
                "\(path) was saved, but the disk did not confirm that it survives a power cut: \(reason)")
        }
    }

    /// Removes files that a change was to add, unless the document, as it is stored, names them after all.
    func remove(_ ids: Set<String>, in transaction: any ArchiveTransaction) async throws {
        guard let attachments, let stored = try await transaction.read(entry) else { return }
        let named = attachments.ids(try codec.decode(stored.bytes))
        attachments.files.remove(ids.subtracting(named))
    }

    func missing(_ files: DocumentFiles) -> AccountError {
        AccountError(
            .damaged,
            "\(path) is not there, but its files are, in \(files.path): put it back from a backup, or move that folder away"
        )
    }

    // MARK: Files

    /// Copies a file, to be added to the document by a change.
    ///
    /// ```swift
    /// let photo = try await archive.stage(contentsOf: "bear.jpg")
    /// try await archive.change(from: [], adding: [photo]) { $0.append(Note(photo: photo.id)) }
    /// ```
    ///
    /// The copy is on the disk, and has an id of its own, when this returns. It becomes one of the document's files together with the
    /// change that names it; without one it is gone, at the latest with the next change of any process after this one's death.
    ///
    /// - Parameter source: The path of a file of any size.
    /// - Throws: `inaccessible` if it cannot be read, or the copy not be written.
    public func stage(contentsOf source: String) async throws(AccountError) -> StagedFile {
        let files = try files()
        return try await BlockingWork.run { () throws(AccountError) in try files.stage(contentsOf: source) }
    }

    /// Writes a copy of one of the document's files, whole or not at all, for its owner to read. A file that is there is
    /// replaced.
    ///
    /// - Parameters:
    ///   - id: The file's id.
    ///   - destination: The path of the copy.
    /// - Throws: `damaged` if the file is not there; `authenticationFailed` if it is sealed and does not open; `inaccessible` if the
    ///   copy cannot be written.
    public func exportFile(_ id: String, to destination: String) async throws(AccountError) {
        let files = try files()
        try await BlockingWork.run { () throws(AccountError) in try files.export(id, to: destination) }
    }

    // MARK: Other programs' documents

    /// Reads a plain document that another program has written, or ``write(_:to:format:)``.
    ///
    /// - Parameter source: The path of a property list, XML or binary, of at most 64 MiB.
    /// - Throws: `damaged` if it is not a property list of such a value; `tooLarge`; `inaccessible`.
    public static func read(from source: String) throws(AccountError) -> Value {
        let file = try source.openFile(followingLinks: true)
        let bytes = try mapping(source) { () throws(SystemCallError) in
            try file.read(limit: maximumByteCount, expected: file.status().byteCount)
        }
        guard bytes.count <= maximumByteCount else {
            throw AccountError(.tooLarge, "\(source) has more than \(maximumByteCount) bytes")
        }
        do {
            return try PropertyListDocument.decode(Value.self, from: bytes)
        } catch {
            throw AccountError(.damaged, "\(source) cannot be used: \(error.reason)")
        }
    }

    /// Writes a plain document for other programs, whole or not at all. A file that is there is replaced.
    ///
    /// - Parameters:
    ///   - value: What is written.
    ///   - destination: The path of the file, which only its owner can read.
    ///   - format: How it is written.
    /// - Throws: `inaccessible` if it cannot be written; `invalidArgument` if the value could not be read back.
    public static func write(
        _ value: Value, to destination: String, format: DocumentFormat = .xml
    ) async throws(AccountError) {
        let bytes = [UInt8](try PropertyListDocument.encode(value, format: format))
        try await BlockingWork.run { () throws(AccountError) in
            try ExportedFile.write(to: destination) { output in try output.write(bytes) }
        }
    }

    private func files() throws(AccountError) -> DocumentFiles {
        guard let attachments else {
            throw AccountError(.invalidArgument, "\(path) is a document without files")
        }
        return attachments.files
    }
}
#endif
