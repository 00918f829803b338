public import AccountKit
package import AccountCrypto
import AccountSupport

/// A document of the app in `Documents`: one `Codable` value in a property list, with attached files.
///
/// ```swift
/// let archive = try DocumentArchive<[Note]>("Notes", in: container)
/// try await archive.change(from: []) { $0.append(note) }
/// for note in try archive.read() ?? [] { print(note.title) }
/// ```
///
/// After ``change(from:adding:timeout:isolation:_:)`` has returned, the change survives a crash and a power cut. The
/// method changes the stored document under a lock, so that one process does not overwrite the changes of another
/// process. A document that cannot be read is an error: AccountKit does not treat it as empty, and does not overwrite
/// it.
///
/// If a tool changes the document before it confirms a command, there is no unsaved data when a signal ends the tool. A
/// tool that edits the value in memory must save it with a change, both when the user requests it and in its signal
/// handler.
///
/// If other programs change the document too, keep the members that your type does not use: see ``OtherKeys``.
///
/// AccountKit loads a document into memory, and a document has at most 64 MiB. Store photos and other large data in
/// separate files, `Notes/<id>`, and store the IDs of the files in the document: see ``stage(contentsOf:)``.
public struct DocumentArchive<Value: Codable & Sendable>: Sendable {
    /// The maximum size of a document: 64 MiB.
    package static var maximumByteCount: Int { 64 << 20 }

    /// A function that returns the IDs of the files that a document names.
    package typealias FileIDs = @Sendable (_ value: Value) -> [String]

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
    ///   - name: The name: 1 to 64 letters, digits, underscores or hyphens. Names of the account's files, such as
    ///     `Account`, are not valid.
    ///   - container: The folders of the app.
    ///   - format: The format of the property list. AccountKit reads both formats. A change of a binary property list
    ///     keeps it binary, because XML cannot contain fractions of seconds and control characters.
    ///   - files: A function that returns the IDs of the files that a document names. Each change removes files that
    ///     the document no longer names.
    /// - Throws: `invalidArgument` if the name is not valid.
    public init(
        _ name: String, in container: AppContainer, format: DocumentFormat = .binary,
        files: (@Sendable (_ value: Value) -> [String])? = nil
    ) throws(AccountError) {
        try self.init(
            name, folder: container.documentsPath, root: container.root, format: format, seal: nil, files: files)
    }

    /// - Parameter root: The folder `folder` or a folder that contains it. The user must own this folder and all
    ///   folders below it.
    package init(
        _ name: String, folder: String, root: String, format: DocumentFormat, seal: RowSeal?, files: FileIDs?,
        owner: (store: AccountStore, key: OfflineKey)? = nil
    ) throws(AccountError) {
        guard Self.isName(name) else {
            throw AccountError(
                .invalidArgument,
                "\"\(name)\" is not a valid document name",
                hint: "use 1 to 64 letters, digits, underscores or hyphens, and avoid names that the account uses")
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
        // The names of AccountKit's own files in the same folder, with or without a number. Ignore case, as some file
        // systems do.
        let own = ["account", "clients", "offline", "refresh", "revocation", "revocations", "sessions", "signout"]
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

    /// Returns whether there is a document, readable or not, or whether there are files whose document is missing.
    ///
    /// - Throws: `inaccessible` or `insecureContainer` if the folder cannot be read.
    public func exists() throws(AccountError) -> Bool {
        try storage.checkTrust()
        if try mapping(path, { () throws(SystemCallError) in try SystemCall.status(path) }) != nil { return true }
        return try attachments?.files.hasFiles() ?? false
    }

    /// Reads the stored document without waiting for other processes.
    ///
    /// - Returns: The value, or `nil` if there is no document yet.
    /// - Throws: `damaged` if the document cannot be read, or if there are files whose document is missing;
    ///   `inaccessible`, `insecureContainer` or `tooLarge` if the file cannot be read; `noKey` or
    ///   `wrongKeyOrDamaged` if the document is encrypted and cannot be opened. The document stays unchanged.
    public func read() throws(AccountError) -> Value? {
        if let stored = try storage.read(entry) { return try codec.decode(stored.bytes) }
        guard let attachments, try attachments.files.hasFiles() else { return nil }
        // A document is created before its first file, so another process may have just created the document.
        guard let stored = try storage.read(entry) else { throw missing(attachments.files) }
        return try codec.decode(stored.bytes)
    }

    /// Changes the document. Under the document's lock, this method reads the document, calls `body` with the value,
    /// and saves the changed value.
    ///
    /// After an error, the document is unchanged, with one exception: `durabilityUnknown` means that AccountKit saved
    /// the document, but the change may not survive a power cut.
    ///
    /// - Parameters:
    ///   - initial: The initial value if there is no document yet.
    ///   - files: The staged files that the changed document refers to. AccountKit removes staged files that the
    ///     document doesn't refer to. After an error, AccountKit removes all staged files.
    ///   - timeout: How long to wait for other processes.
    ///   - isolation: The actor on which to run. The default is the caller's actor.
    ///   - body: A closure that changes the value. Other processes wait for the closure, so it must not block. If it
    ///     throws an error, the document stays unchanged.
    /// - Returns: The result of `body`.
    /// - Throws: The errors of ``read()``; `busy` after the timeout; `inaccessible` if the document cannot be saved,
    ///   for example on a full disk; `tooLarge`; `invalidArgument` if the value could not be read back from a property
    ///   list, or if it refers to a missing file; `notSignedIn` if the document is encrypted for a user who has signed
    ///   out; or the error of `body`.
    @discardableResult
    public func change<Result>(
        from initial: Value, adding files: [StagedFile] = [], timeout: Duration = .seconds(10),
        isolation: isolated (any Actor)? = #isolation, _ body: (inout Value) throws -> Result
    ) async throws -> Result {
        // Discard the files explicitly, because the process may end before the last reference to a file is released.
        defer { for file in files { file.discard() } }
        return try await storage.withTransaction(timeout: timeout) { transaction in
            // A closure runs on the caller's actor only if it captures `isolation`.
            try await change(
                from: initial, staged: Set(files.map(\.id)), in: transaction, isolation: isolation,
                placing: { ids, folder throws(AccountError) in
                    try folder.commit(files.filter { ids.contains($0.id) })
                }, body)
        }
    }

    /// Changes the document in a transaction.
    ///
    /// - Parameters:
    ///   - staged: The IDs of the files that the change may add; `nil` for each file that the changed value adds.
    ///   - place: A function that gives the files with these IDs their final names.
    func change<Result>(
        from initial: Value, staged: Set<String>?, in transaction: any ArchiveTransaction,
        isolation: isolated (any Actor)? = #isolation,
        placing place: @escaping @Sendable (Set<String>, DocumentFiles) throws(AccountError) -> Void,
        _ body: (inout Value) throws -> Result
    ) async throws -> Result {
        try await checkIsOwners()
        let stored = try await transaction.read(entry)
        var revision = stored?.revision
        var value = try stored.map { try codec.decode($0.bytes) } ?? initial
        let folder = attachments?.files
        if stored == nil, let folder, try folder.hasFiles() { throw missing(folder) }
        let before = Set(attachments?.ids(value) ?? [])
        let result = try body(&value)
        let after = Set(attachments?.ids(value) ?? [])
        let added = after.subtracting(before)
        let placed = staged?.intersection(after) ?? added
        let bytes = try codec.encode(value, replacing: stored?.bytes)
        if stored == nil, !placed.isEmpty {
            // Save the document before its files, so that a crash never leaves files without a document.
            revision = try await transaction.replace(entry, with: codec.encode(initial), ifRevision: nil).revision
        }

        let receipt: ArchiveReceipt
        do {
            if let folder {
                try await BlockingWork.run { () throws(AccountError) in
                    try place(placed, folder)
                    try folder.check(added.union(placed))
                }
            }
            // The user may have signed out in the meantime.
            try await checkIsOwners()
            receipt = try await transaction.replace(entry, with: bytes, ifRevision: revision)
        } catch {
            // Ignore an error of the removal: the next change removes the files.
            try? await remove(placed, in: transaction)
            throw error
        }
        try check(receipt.durability)
        if let folder { await BlockingWork.run { folder.sweep(keeping: after) } }
        return result
    }

    func check(_ durability: ArchiveReceipt.Durability) throws(AccountError) {
        if case .unknown(let reason) = durability {
            throw AccountError(
                .durabilityUnknown,
                "\(path) was saved, but the disk did not confirm that it survives a power cut: \(reason)")
        }
    }

    /// Removes the files of a failed change, unless the stored document refers to them.
    func remove(_ ids: Set<String>, in transaction: any ArchiveTransaction) async throws {
        guard let attachments, let stored = try await transaction.read(entry) else { return }
        let named = attachments.ids(try codec.decode(stored.bytes))
        attachments.files.remove(ids.subtracting(named))
    }

    func missing(_ files: DocumentFiles) -> AccountError {
        AccountError(
            .damaged,
            "\(path) is missing, but its files are in \(files.path)",
            hint: "restore the document from a backup, or move that folder away"
        )
    }

    // MARK: Files

    /// Copies a file, so that a change can add it to the document.
    ///
    /// ```swift
    /// let photo = try await archive.stage(contentsOf: "bear.jpg")
    /// try await archive.change(from: [], adding: [photo]) { $0.append(Note(photo: photo.id)) }
    /// ```
    ///
    /// When this method returns, the copy is durable and has an ID. A change that refers to this ID adds the copy to
    /// the document. Otherwise, AccountKit removes the copy when the returned value is released. After a crash, the
    /// next change by any process removes the copy.
    ///
    /// - Parameter source: The path of a file of any size.
    /// - Throws: `inaccessible` if the file cannot be read, or if the copy cannot be written.
    public func stage(contentsOf source: String) async throws(AccountError) -> StagedFile {
        let files = try files()
        return try await BlockingWork.run { () throws(AccountError) in try files.stage(contentsOf: source) }
    }

    /// Writes a complete copy of one of the document's files. Only the owner of the copy can read it. This method
    /// replaces an existing file at the destination.
    ///
    /// - Parameters:
    ///   - id: The ID of the file.
    ///   - destination: The path of the copy.
    /// - Throws: `damaged` if the file is missing; `wrongKeyOrDamaged` if it cannot be decrypted;
    ///   `inaccessible` if the copy cannot be written.
    public func exportFile(_ id: String, to destination: String) async throws(AccountError) {
        let files = try files()
        try await BlockingWork.run { () throws(AccountError) in try files.export(id, to: destination) }
    }

    // MARK: Documents of other programs

    /// Reads a document without encryption that another program or ``write(_:to:format:)`` has written.
    ///
    /// - Parameter source: The path of an XML or binary property list of at most 64 MiB.
    /// - Throws: `damaged` if the file is not a property list with a value of this type; `tooLarge`; `inaccessible`.
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
            throw AccountError(
                .damaged, "\(source) cannot be used: \(error.reason)",
                hint: "correct the file, or convert it to an XML or binary property list")
        }
    }

    /// Writes a complete document without encryption for other programs. This method replaces an existing file.
    ///
    /// - Parameters:
    ///   - value: The value to write.
    ///   - destination: The path of the file, which only its owner can read.
    ///   - format: The format of the property list.
    /// - Throws: `inaccessible` if the file cannot be written; `invalidArgument` if the value could not be read back.
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
