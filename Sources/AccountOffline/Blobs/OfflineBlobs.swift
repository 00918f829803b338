#if Offline
public import AccountKit
import HTTPTypes
import AccountCrypto
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The blobs of an account, such as images and attachments: downloaded once, kept sealed, readable without the network.
///
/// ```swift
/// let photos = try await OfflineBlobs("photos", PhotosAPI(), of: store, in: container) {
///     let response = try await api.stream($0, body: $1, receiving: $2)
///     return (response.head, response.body)
/// }
/// let photo = try await photos.blob("p1.jpg", owner: item.id)      // from the disk, or from the service
/// try await photo.export(to: "p1.jpg")
/// try await photos.remove(ownedBy: item.id)
/// ```
///
/// A download that was cut goes on where it was cut, also in another process, if the service can do that; a blob is shown when it
/// is whole, and not before. A blob's size costs no memory.
///
/// All of it is in the app's caches, sealed with the key of the signed-in user. What was not used for longest goes when there is
/// too much of it. Signing out destroys the key.
public final class OfflineBlobs: Sendable {
    /// How the service is asked.
    public let remote: any RemoteBlob

    /// How many bytes are kept on the disk at most, about; and how many one blob may have.
    public let maximumByteCount: Int

    let folder: BlobFolder
    private let transport: RemoteBlobTransport
    private let clock: any WallClock
    private let store: AccountStore
    private let key: OfflineKey
    /// How much was stored since it was last looked whether that is too much; `nil` if not yet in this run.
    private let newByteCount = Mutex<Int?>(nil)

    /// Opens what is kept for the signed-in user.
    ///
    /// - Parameters:
    ///   - name: Of these blobs, such as `photos`.
    ///   - remote: How the service is asked.
    ///   - store: Whose account it is.
    ///   - container: The folders of the app: blobs go into its caches.
    ///   - maximumByteCount: How many bytes are kept on the disk at most, about; and how many one blob may have.
    ///   - maximumMemoryByteCount: How many bytes of blobs that were read are kept in memory.
    ///   - clock: Tells the date.
    ///   - transport: Sends requests with the account's authorization. It obtains the token in the task that calls it: then it
    ///     gets no token of a user who signs in later, but the error `conflict`.
    /// - Throws: `notSignedIn` if nobody is.
    public init(
        _ name: String, _ remote: any RemoteBlob, of store: AccountStore, in container: AppContainer,
        maximumByteCount: Int = 4 << 30, maximumMemoryByteCount: Int = 16 << 20,
        clock: any WallClock = SystemWallClock(), sending transport: @escaping RemoteBlobTransport
    ) async throws(AccountError) {
        self.remote = remote
        self.maximumByteCount = maximumByteCount
        self.store = store
        self.clock = clock
        let key = try await store.offlineKey()
        self.key = key
        self.transport = { request, body, receive in
            try await AccountStore.withRequests(for: key) { try await transport(request, body, receive) }
        }
        folder = BlobFolder(
            container.folder(
                container.path(of: container.caches) + "/Offline/"
                    + key.seal.keyedID(name.utf8, type: "blobs folder").hexadecimal),
            key.seal, BlobMemory(limit: maximumMemoryByteCount))
    }

    // MARK: Reading

    /// A blob: from the disk if it is there, else from the service.
    ///
    /// - Parameters:
    ///   - id: The service's id of it.
    ///   - owner: What it belongs to, such as the id of an item: it goes with that.
    ///   - progress: Gets how far the download is, if there is one.
    /// - Throws: `serviceUnavailable` if the service cannot be reached, or the download was cut: the next one goes on from there;
    ///   `requestFailed` if the service does not have it, or sends something else; `notSignedIn` if the user has signed out, or the
    ///   service ended the session; `tooLarge`; `inaccessible` if it cannot be stored, such as on a full disk.
    public func blob(
        _ id: String, owner: String, progress: @escaping @Sendable (BlobProgress) -> Void = { _ in }
    ) async throws(AccountError) -> OfflineBlob {
        try await errors {
            if let stored = try await storedBlob(id, owner) { return stored }
            return try await download(id, folder.name(id, owner: owner), replacing: nil, progress)
        }
    }

    /// A blob as it is on the disk. The service is not asked.
    ///
    /// - Parameters:
    ///   - id: The service's id of it.
    ///   - owner: What it belongs to.
    /// - Returns: `nil` if not all of it is there.
    /// - Throws: `notSignedIn` if the user has signed out; `inaccessible`.
    public func storedBlob(_ id: String, owner: String) async throws(AccountError) -> OfflineBlob? {
        try await errors { try await storedBlob(id, owner) }
    }

    private func storedBlob(_ id: String, _ owner: String) async throws -> OfflineBlob? {
        // What is in memory must not outlive the key.
        try await checkIsCurrent()
        return try folder.blob(id, folder.name(id, owner: owner), at: clock.now)
    }

    /// A blob as the service has it now, which is asked whether it has changed. Without the network, what is stored stays.
    ///
    /// - Parameters:
    ///   - id: The service's id of it.
    ///   - owner: What it belongs to.
    ///   - progress: Gets how far the download is, if there is one.
    /// - Throws: As ``blob(_:owner:progress:)``. If the service does not have it any more, it is gone here too.
    public func refresh(
        _ id: String, owner: String, progress: @escaping @Sendable (BlobProgress) -> Void = { _ in }
    ) async throws(AccountError) -> OfflineBlob {
        try await errors {
            let stored = try await storedBlob(id, owner)
            return try await download(id, folder.name(id, owner: owner), replacing: stored, progress)
        }
    }

    // MARK: Downloading

    private func download(
        _ id: String, _ name: BlobName, replacing stored: OfflineBlob?,
        _ progress: @escaping @Sendable (BlobProgress) -> Void
    ) async throws -> OfflineBlob {
        var partial: PartialBlob?
        var pause = Duration.milliseconds(5)
        while partial == nil {
            partial = try folder.partial(name.partialFile, of: name)
            if partial == nil {
                // Another one is downloading it: the kernel lets the lock go when it is done, or dead.
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(200))
            }
            // It may have come meanwhile.
            if let blob = try folder.blob(id, name, at: clock.now), blob.record != stored?.record {
                partial?.discard()
                return blob
            }
        }
        guard let partial else { preconditionFailure("the loop ends with one") }
        do {
            return try await download(id, name, to: partial, replacing: stored, progress)
        } catch {
            let failure = AccountError(blob: error)
            // What can be gone on with stays, whatever the service has said. A full disk is given back what it lacks.
            if failure.code == .inaccessible || !partial.isResumable { partial.discard() }
            throw failure
        }
    }

    private func download(
        _ id: String, _ name: BlobName, to partial: PartialBlob, replacing stored: OfflineBlob?,
        _ progress: @escaping @Sendable (BlobProgress) -> Void
    ) async throws -> OfflineBlob {
        var resumption = try await BlockingWork.run { try partial.resume() }
        while true {
            var request = remote.request(downloading: id)
            // Bytes are counted, so they must be those of the file.
            request.headerFields[.acceptEncoding] = "identity"
            request.headerFields[.ifNoneMatch] = stored?.entityTag
            if let resumption {
                request.headerFields[.range] = "bytes=\(resumption.offset)-"
                request.headerFields[.ifRange] = resumption.entityTag
            }
            let reception = BlobReception(
                partial, request, resuming: resumption, limit: maximumByteCount,
                checking: { try await self.checkIsCurrent() }, report: progress)
            switch try await outcome(of: request, in: reception, partial) {
            case .complete:
                return try await finish(id, name, partial)
            case .incomplete:
                let before = resumption?.offset ?? 0
                resumption = try await BlockingWork.run { try partial.resume() }
                guard let now = resumption, now.offset > before else {
                    partial.discard()
                    throw BlobResponse.unusable("a part of the blob that is too short to go on with")
                }
            case .anew:
                // Without a range there is no such response again.
                guard resumption != nil else { throw BlobResponse.unusable("nothing that can be used") }
                resumption = nil
            case .notModified:
                guard let stored else { throw BlobResponse.unusable("nothing that can be used (304)") }
                partial.discard()
                return stored
            case .gone(let error):
                try folder.remove(name.text)
                throw error
            }
        }
    }

    private func outcome(
        of request: HTTPRequest, in reception: BlobReception, _ partial: PartialBlob
    ) async throws -> BlobReception.Outcome {
        do {
            do {
                let (head, body) = try await transport(request, nil) { try await reception.receive($0, $1) }
                return try await reception.finish(head, body)
            } catch {
                return try await reception.outcome(of: error)
            }
        } catch {
            var failure = AccountError(blob: error).offline
            // What came is wrong, or is nobody's any more.
            if await reception.hasFailed, failure.code != .cancelled { partial.discard() }
            if failure.code == .serviceUnavailable, await reception.hasBegun {
                failure.message = "the download was cut after \(await reception.standing) (\(failure.message))"
            }
            throw failure
        }
    }

    private func finish(_ id: String, _ name: BlobName, _ partial: PartialBlob) async throws -> OfflineBlob {
        do {
            try await checkIsCurrent()
        } catch {
            partial.discard()
            throw error
        }
        guard try await BlockingWork.run({ try partial.finish() }) != nil else {
            // An upload of the same may have been faster.
            if let blob = try folder.blob(id, name, at: clock.now) { return blob }
            throw AccountError(.conflict, "the blob was removed while it was downloaded: ask for it again")
        }
        guard let blob = try folder.blob(id, name, at: clock.now) else {
            throw AccountError(.conflict, "the blob was removed as soon as it was downloaded: ask for it again")
        }
        await makeRoom(for: blob.byteCount)
        return blob
    }

    // MARK: Uploading

    /// Sends a file to the service, which becomes the blob. Its size costs no memory.
    ///
    /// - Parameters:
    ///   - path: The path of the file. It must not change meanwhile.
    ///   - id: The service's id of the blob.
    ///   - owner: What it belongs to.
    ///   - condition: When the service is to take it. Without one, what others have put there meanwhile is lost.
    ///   - progress: Gets how much was sent.
    /// - Returns: The service's tag of the new version, if it gave one.
    /// - Throws: `conflict` if the service has another version than the condition says; `serviceUnavailable` if there was no
    ///   response: the service may have taken it nevertheless; `inaccessible` if the file cannot be read; `notSignedIn`,
    ///   `requestFailed`.
    @discardableResult
    public func upload(
        contentsOf path: String, as id: String, owner: String, if condition: BlobCondition = .always,
        progress: @escaping @Sendable (BlobProgress) -> Void = { _ in }
    ) async throws(AccountError) -> String? {
        try await errors {
            try await checkIsCurrent()
            let name = folder.name(id, owner: owner)
            // The service can be asked for it where there is no room for a copy.
            let file = try UploadedFile(path, report: progress) { byteCount in
                byteCount <= maximumByteCount ? try? folder.partial(name.temporaryFile(), of: name) : nil
            }
            do {
                return try await upload(file, id, name, condition)
            } catch {
                file.discardCopy()
                throw file.failure ?? AccountError(blob: error).offline
            }
        }
    }

    private func upload(
        _ file: UploadedFile, _ id: String, _ name: BlobName, _ condition: BlobCondition
    ) async throws -> String? {
        var request = remote.request(uploading: id)
        switch condition {
        case .always: break
        case .unchanged(let tag): request.headerFields[.ifMatch] = tag
        case .absent: request.headerFields[.ifNoneMatch] = "*"
        }
        let (head, body) = try await transport(request, (file.byteCount, { try file.pieces() })) { _, _ in
            // What a service says of a success is in the head.
        }
        guard head.status.kind == .successful else { throw AccountError(blob: head, body) }
        // A tag says that exactly these bytes were stored (RFC 9110, section 9.3.4).
        let tag = head.headerFields[.eTag]
        // A download of an older version that is under way must not get its name.
        try folder.remove(name)
        if let copy = file.takeCopy() {
            guard let tag, EntityTag.isStrong(tag), try await store.isCurrent(key) else {
                copy.discard()
                return tag
            }
            if try await BlockingWork.run({ try copy.finish(entityTag: tag) }) != nil {
                folder.touch(name, at: clock.now)
                await makeRoom(for: file.byteCount)
            }
        }
        return tag
    }

    // MARK: Removing

    /// Removes the blobs of an owner from this machine, such as when an item is deleted. The service is not asked.
    public func remove(ownedBy owner: String) async throws(AccountError) {
        try await errors { try folder.remove(BlobName.prefix(of: owner, key.seal)) }
    }

    /// Removes a blob from this machine. The service is not asked.
    ///
    /// - Parameters:
    ///   - id: The service's id of it.
    ///   - owner: What it belongs to.
    public func remove(_ id: String, owner: String) async throws(AccountError) {
        try await errors { try folder.remove(folder.name(id, owner: owner).text) }
    }

    /// Makes room once a run, and again where a run itself stores much.
    private func makeRoom(for byteCount: Int) async {
        let isDue = newByteCount.withLock { count in
            let new = count.map { $0 + byteCount }
            count = new.map { $0 < maximumByteCount / 8 ? $0 : 0 } ?? 0
            return count == 0
        }
        if isDue { await BlockingWork.run { [folder, maximumByteCount] in folder.evict(to: maximumByteCount) } }
    }

    // MARK: Whose they are

    /// Refuses to store what came for somebody who is not signed in any more.
    private func checkIsCurrent() async throws(AccountError) {
        guard try await store.isCurrent(key) else {
            throw AccountError(
                .notSignedIn, "the user has signed out, or somebody else has signed in: nothing was stored")
        }
    }

    private func errors<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch {
            throw AccountError(blob: error)
        }
    }
}

extension OfflineBlobs: AccountLinkedStorage {
    /// Blobs can be fetched again: nothing is lost.
    public func unsentWork() async -> String? { nil }

    /// Removes all of them from this machine.
    public func remove() async { await BlockingWork.run { [folder] in folder.removeAll() } }
}
#endif
