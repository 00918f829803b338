public import AccountKit
import AccountCrypto
import AccountSupport

extension DocumentArchive {
    /// Opens an encrypted document of the signed-in user, `Offline/<user>/<name>.plist`, where `<user>` is a keyed
    /// hash.
    ///
    /// The document and its files are encrypted with the user's key for offline data. A sign-out destroys this key and
    /// thereby the document: see ``linkedStorage(_:)``. If the service ends the session, the key stays for the user's
    /// next sign-in. Each user has a separate document.
    ///
    /// - Parameters:
    ///   - name: The name, as for a document without encryption.
    ///   - store: The store of the account.
    ///   - container: The folders of the app.
    ///   - format: The format of the property list before encryption.
    ///   - files: A function that returns the IDs of the files that a document names. Each change removes files that
    ///     the document no longer names.
    /// - Throws: `notSignedIn` if no user is signed in; `invalidArgument` if the name is not valid.
    public init(
        _ name: String, of store: AccountStore, in container: AppContainer, format: DocumentFormat = .binary,
        files: (@Sendable (_ value: Value) -> [String])? = nil
    ) async throws(AccountError) {
        let key = try await store.offlineKey()
        let user = key.seal.keyedID(name.utf8, type: "folder of documents").hexadecimal
        try self.init(
            name, folder: Self.sealedFolder(in: container) + "/" + user, root: container.root, format: format,
            seal: key.seal, files: files, owner: (store, key))
    }

    /// Returns whether a user who is signed in, or whose session the service has ended, has an encrypted document with
    /// this name.
    ///
    /// The document of a user who has signed out does not count, even if its file still exists.
    ///
    /// - Parameters:
    ///   - name: The name of the document.
    ///   - container: The folders of the app.
    ///   - store: The store of the account. The expression is evaluated only if there is an encrypted document.
    /// - Throws: `inaccessible` or `insecureContainer` if the folder cannot be read.
    public static func isSealed(
        _ name: String, in container: AppContainer, for store: @autoclosure () throws -> AccountStore
    ) async throws -> Bool {
        let folder = sealedFolder(in: container)
        try container.folder(folder).checkTrust()
        let isThere = try mapping(folder) { () throws(SystemCallError) in
            guard try SystemCall.status(folder) != nil else { return false }
            for user in try SystemCall.names(in: folder)
            where try SystemCall.status("\(folder)/\(user)/\(name).plist") != nil {
                return true
            }
            return false
        }
        return isThere ? try await store().hasOfflineKeys() : false
    }

    private static func sealedFolder(in container: AppContainer) -> String { container.documentsPath + "/Offline" }

    /// Returns an object that describes the data that a sign-out would delete with this document, for an app's
    /// `linkedStorage(of:)`.
    ///
    /// ```swift
    /// try await DocumentArchive<[Note]>("Notes", of: store, in: container).linkedStorage { notes in
    ///     notes.isEmpty ? nil : "\(notes.count) notes that are kept only on this machine"
    /// }
    /// ```
    ///
    /// - Parameter description: A function that describes the data that would be lost with a value, or returns `nil` if
    ///   there is none.
    /// - Returns: `nil` for a document without encryption, which a sign-out keeps.
    public func linkedStorage(_ description: @escaping @Sendable (_ value: Value) -> String?) -> (
        any AccountLinkedStorage
    )? {
        owner == nil ? nil : SealedDocumentData(archive: self, description: description)
    }

    /// Throws an error if the key was destroyed, so that the document could no longer be read.
    func checkIsOwners() async throws(AccountError) {
        guard let owner, try await !owner.store.isCurrent(owner.key) else { return }
        throw AccountError(
            .notSignedIn, "the user has signed out, or another user has signed in: nothing was changed")
    }
}

private struct SealedDocumentData<Value: Codable & Sendable>: AccountLinkedStorage {
    let archive: DocumentArchive<Value>
    let description: @Sendable (Value) -> String?

    func unsentWork() async throws -> String? { try archive.read().flatMap(description) }

    func remove() async {
        // Ignore errors: the key is already destroyed, so the files are unreadable.
        await BlockingWork.run { [folder = archive.path.parentDirectory] in
            try? FileManager.default.removeItem(atPath: folder)
        }
    }
}
