#if Offline
public import AccountKit
import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Documents that are sealed for the signed-in user.
extension DocumentArchive {
    /// A document that only the signed-in user can read, `Offline/<user>/<name>.plist`, where `<user>` is a keyed hash.
    ///
    /// It and its files are sealed with the key that seals what the user has offline. Signing out destroys that key, and so the
    /// document; see ``linkedStorage(_:)``. A session that the service ended keeps it for the same user's next sign-in. Who signs in
    /// as somebody else has a document of their own.
    ///
    /// - Parameters:
    ///   - name: As for a document in plain text.
    ///   - store: Whose account it is.
    ///   - container: The app's folders.
    ///   - format: How the property list is written before it is sealed.
    ///   - files: Which files a document names. Those that no document names any more are removed with each change.
    /// - Throws: `notSignedIn` if nobody is; `invalidArgument` for another name.
    public init(
        _ name: String, of store: AccountStore, in container: AppContainer, format: DocumentFormat = .binary,
        files: FileIDs? = nil
    ) async throws(AccountError) {
        let key = try await store.offlineKey()
        let user = key.seal.keyedID(name.utf8, type: "folder of documents").hexadecimal
        try self.init(
            name, folder: Self.sealedFolder(in: container) + "/" + user, root: container.root, format: format,
            seal: key.seal, files: files, owner: (store, key))
    }

    /// Whether a document of this name is there that is sealed for a user, who may be signed in or not.
    ///
    /// What is left of one whose user has signed out does not count.
    ///
    /// - Parameters:
    ///   - name: The document's name.
    ///   - container: The app's folders.
    ///   - store: Where users sign in; not made if nothing is sealed.
    /// - Throws: `inaccessible` or `insecureContainer` if it could not be looked at.
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

    /// What signing out would lose with this document, for an app's `linkedStorage(of:)`.
    ///
    /// ```swift
    /// try await DocumentArchive<[Note]>("Notes", of: store, in: container).linkedStorage { notes in
    ///     notes.isEmpty ? nil : "\(notes.count) notes that are kept only on this machine"
    /// }
    /// ```
    ///
    /// - Parameter description: What would be lost with a value, for a person; `nil` if nothing.
    /// - Returns: `nil` for a document in plain text, which stays when somebody signs out.
    public func linkedStorage(_ description: @escaping @Sendable (_ value: Value) -> String?) -> (
        any AccountLinkedStorage
    )? {
        owner == nil ? nil : SealedDocumentData(archive: self, description: description)
    }

    /// Refuses to save what nobody could read any more.
    func checkIsOwners() async throws(AccountError) {
        guard let owner, try await !owner.store.isCurrent(owner.key) else { return }
        throw AccountError(
            .notSignedIn, "the user has signed out, or somebody else has signed in: nothing was changed")
    }
}

private struct SealedDocumentData<Value: Codable & Sendable>: AccountLinkedStorage {
    let archive: DocumentArchive<Value>
    let description: @Sendable (Value) -> String?

    func unsentWork() async throws -> String? { try archive.read().flatMap(description) }

    func remove() async {
        // The key is gone already, and with it all that this holds.
        await BlockingWork.run { [folder = archive.path.parentDirectory] in
            try? FileManager.default.removeItem(atPath: folder)
        }
    }
}
#endif
