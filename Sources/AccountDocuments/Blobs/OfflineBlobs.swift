public import AccountKit
import HTTPTypes
import AccountCrypto
import AccountSupport
import Synchronization

/// The blobs of an account, such as images and attachments: downloaded once, stored encrypted, and readable offline.
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
/// If the service supports ranges, an interrupted download continues where it stopped, even in another process. The
/// methods return only complete blobs. The size of a blob does not affect memory use.
///
/// The blobs are in the app's caches, encrypted with the key of the signed-in user. If the blobs exceed the maximum
/// size, AccountKit removes the least recently used blobs. A sign-out destroys the key.
public final class OfflineBlobs: Sendable {
    let remote: any RemoteBlob

    let maximumByteCount: Int

    /// The maximum length of the beginning of a response to an upload that the adapter receives.
    private static let maximumAnswerByteCount = 64 << 10

    let folder: BlobFolder
    private let transport: RemoteBlobTransport
    private let clock: any WallClock
    private let store: AccountStore
    private let key: OfflineKey
    /// The number of bytes that were stored since the last check of the total size, or `nil` before the first check.
    private let newByteCount = Mutex<Int?>(nil)

    /// Opens the blobs of the signed-in user.
    ///
    /// - Parameters:
    ///   - name: The name of these blobs, such as `photos`.
    ///   - remote: The adapter for the service.
    ///   - store: The store of the account.
    ///   - container: The folders of the app. AccountKit stores blobs in its caches folder.
    ///   - maximumByteCount: The approximate maximum size on the disk, in bytes, and the maximum size of one blob.
    ///   - maximumMemoryByteCount: The maximum size of blobs in memory, in bytes.
    ///   - clock: The source of the current date, or `nil` for the clock of the machine.
    ///   - transport: The function that sends requests with the authorization of the account. It must obtain the token
    ///     in the task that calls it, so that it receives the error `conflict` instead of the token of a user who signs
    ///     in later.
    /// - Throws: `notSignedIn` if no user is signed in.
    public init(
        _ name: String, _ remote: any RemoteBlob, of store: AccountStore, in container: AppContainer,
        maximumByteCount: Int = 4 << 30, maximumMemoryByteCount: Int = 16 << 20,
        clock: (any WallClock)? = nil, sending transport: @escaping RemoteBlobTransport
    ) async throws(AccountError) {
        self.remote = remote
        self.maximumByteCount = maximumByteCount
        self.store = store
        self.clock = clock ?? SystemWallClock()
        let key = try await store.offlineKey()
        self.key = key
        self.transport = { request, body, receive in
            try await AccountStore.withRequests(for: key) { try await transport(request, body, receive) }
        }
        folder = BlobFolder(
            container.folder(
                container.cachesPath + "/Offline/"
                    + key.seal.keyedID(name.utf8, type: "blobs folder").hexadecimal),
            key.seal, BlobMemory(limit: maximumMemoryByteCount))
    }

    // MARK: Reading

    /// Returns a blob from the disk or from the service.
    ///
    /// - Parameters:
    ///   - id: The ID of the blob at the service.
    ///   - owner: The owner of the blob, such as the ID of an item. ``remove(ownedBy:)`` removes all blobs of an owner.
    ///   - progress: A function that receives the progress of a download: the number of transferred bytes, including bytes of
    ///     earlier attempts that are not transferred again, and the total size in bytes, or `nil` if the service did not send
    ///     it.
    /// - Throws: `serviceUnavailable` if the service is unreachable, or if the download was interrupted (the next call
    ///   continues it); `requestRefused` if the service does not have the blob or sends other data; `notSignedIn` if the
    ///   user has signed out or the service has ended the session; `tooLarge` if the blob is larger than
    ///   `maximumByteCount`; `inaccessible` if AccountKit cannot store the blob, for example on a full disk.
    public func blob(
        _ id: String, owner: String,
        progress: @escaping @Sendable (_ completed: Int, _ total: Int?) -> Void = { _, _ in }
    ) async throws(AccountError) -> OfflineBlob {
        try await errors {
            if let stored = try await storedBlob(id, owner) { return stored }
            return try await download(id, folder.name(id, owner: owner), replacing: nil, progress)
        }
    }

    /// Returns a blob from the disk, without a request.
    ///
    /// - Returns: `nil` if the blob is not stored completely.
    /// - Throws: `notSignedIn` if the user has signed out; `inaccessible` if the stored blob cannot be read.
    public func storedBlob(_ id: String, owner: String) async throws(AccountError) -> OfflineBlob? {
        try await errors { try await storedBlob(id, owner) }
    }

    private func storedBlob(_ id: String, _ owner: String) async throws -> OfflineBlob? {
        // Don't return a blob in memory after the key was destroyed.
        try await store.requireCurrent(key)
        return try folder.blob(id, folder.name(id, owner: owner), at: clock.now)
    }

    /// Checks at the service whether a blob has changed, and returns the current version. If the service is
    /// unreachable, the stored blob stays.
    ///
    /// - Throws: The errors of ``blob(_:owner:progress:)``. If the service no longer has the blob, this method also
    ///   removes the stored blob. A 404 of another server, such as a proxy, does not remove the stored blob.
    public func refresh(
        _ id: String, owner: String,
        progress: @escaping @Sendable (_ completed: Int, _ total: Int?) -> Void = { _, _ in }
    ) async throws(AccountError) -> OfflineBlob {
        try await errors {
            let stored = try await storedBlob(id, owner)
            return try await download(id, folder.name(id, owner: owner), replacing: stored, progress)
        }
    }

    // MARK: Downloading

    private func download(
        _ id: String, _ name: BlobName, replacing stored: OfflineBlob?,
        _ progress: @escaping BlobProgress
    ) async throws -> OfflineBlob {
        var partial: PartialBlob?
        var pause = Duration.milliseconds(5)
        while partial == nil {
            partial = try folder.partial(name.partialFile, of: name)
            if partial == nil {
                // Another process is downloading the blob. The kernel releases the lock when that process ends.
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(200))
            }
            // Another process may have stored the blob.
            if let blob = try folder.blob(id, name, at: clock.now), blob.record != stored?.record {
                partial?.discard()
                return blob
            }
        }
        guard let partial else { preconditionFailure("the loop ended without a download") }
        do {
            return try await download(id, name, to: partial, replacing: stored, progress)
        } catch {
            let failure = AccountError(blob: error)
            // Keep a download that can continue, except if the disk is full.
            if failure.code == .inaccessible || !partial.isResumable { partial.discard() }
            throw failure
        }
    }

    private func download(
        _ id: String, _ name: BlobName, to partial: PartialBlob, replacing stored: OfflineBlob?,
        _ progress: @escaping BlobProgress
    ) async throws -> OfflineBlob {
        var resumption = try await BlockingWork.run { try partial.resume() }
        while true {
            var request = remote.request(downloading: id)
            // Ranges count the bytes of the file, so the response must not be compressed.
            request.headerFields[.acceptEncoding] = "identity"
            request.headerFields[.ifNoneMatch] = stored?.entityTag
            if let resumption {
                request.headerFields[.range] = "bytes=\(resumption.offset)-"
                request.headerFields[.ifRange] = resumption.entityTag
            }
            let reception = BlobReception(
                partial, request, of: remote, resuming: resumption, limit: maximumByteCount,
                checking: { try await self.store.requireCurrent(self.key) }, report: progress)
            switch try await outcome(of: request, in: reception, partial) {
            case .complete:
                return try await finish(id, name, partial)
            case .incomplete:
                let before = resumption?.offset ?? 0
                resumption = try await BlockingWork.run { try partial.resume() }
                guard let now = resumption, now.offset > before else {
                    partial.discard()
                    throw BlobResponse.unusable("a part of the blob that is too short to continue with")
                }
            case .anew:
                // Only a request with a range can have this response.
                guard resumption != nil else { throw BlobResponse.unusable("no usable response") }
                resumption = nil
            case .notModified:
                guard let stored else { throw BlobResponse.unusable("no usable response (304)") }
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
            // Discard the data, because it is wrong or the user has signed out.
            if await reception.hasFailed, failure.code != .cancelled { partial.discard() }
            if failure.code == .serviceUnavailable, await reception.hasBegun {
                failure.message = "the download was interrupted after \(await reception.standing) (\(failure.message))"
            }
            throw failure
        }
    }

    private func finish(_ id: String, _ name: BlobName, _ partial: PartialBlob) async throws -> OfflineBlob {
        do {
            try await store.requireCurrent(key)
        } catch {
            partial.discard()
            throw error
        }
        guard try await BlockingWork.run({ try partial.finish() }) != nil else {
            // An upload of the same blob may have been faster.
            if let blob = try folder.blob(id, name, at: clock.now) { return blob }
            throw AccountError(.conflict, "the blob was removed during the download: request it again")
        }
        guard let blob = try folder.blob(id, name, at: clock.now) else {
            throw AccountError(.conflict, "the blob was removed right after the download: request it again")
        }
        await makeRoom(for: blob.byteCount)
        return blob
    }

    // MARK: Uploading

    /// Uploads a file, which becomes the blob. The size of the file does not affect memory use.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which must not change during the upload.
    ///   - id: The ID of the blob at the service.
    ///   - owner: The owner, as for ``blob(_:owner:progress:)``.
    ///   - condition: The condition for the upload. Without a condition, the upload overwrites versions of other
    ///     clients.
    ///   - progress: A function that receives the number of bytes that were sent.
    /// - Returns: The entity tag of the new version, if the service sent one.
    /// - Throws: `conflict` if the service's version does not match the condition; `serviceUnavailable` if there was no
    ///   response from the service, although the service may have stored the file; `inaccessible` if the file cannot be read;
    ///   `notSignedIn`; `requestRefused`.
    @discardableResult
    public func upload(
        contentsOf path: String, as id: String, owner: String, if condition: BlobCondition = .always,
        progress: @escaping @Sendable (_ completed: Int, _ total: Int?) -> Void = { _, _ in }
    ) async throws(AccountError) -> String? {
        try await errors {
            try await store.requireCurrent(key)
            let name = folder.name(id, owner: owner)
            // If there is no space for a copy, the app can download the blob later.
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
        let beginning = Mutex(Data())
        let (head, body) = try await transport(request, (file.byteCount, { try file.pieces() })) { _, piece in
            beginning.withLock { $0 += piece.prefix(Self.maximumAnswerByteCount - $0.count) }
        }
        guard head.status.kind == .successful else { throw AccountError(blob: head, body) }
        guard remote.isFromService(head, beginning.withLock { $0 }) else {
            throw BlobResponse.foreign(MediaType(head.headerFields[.contentType]))
        }
        // A tag means that the service stored exactly these bytes (RFC 9110, section 9.3.4).
        let tag = head.headerFields[.eTag]
        // Prevent a running download of an older version from replacing the new blob.
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

    /// Removes the blobs of an owner from this machine, for example when an item is deleted. This method sends no
    /// request to the service.
    public func remove(ownedBy owner: String) async throws(AccountError) {
        try await errors { try folder.remove(BlobName.prefix(of: owner, key.seal)) }
    }

    /// Removes a blob from this machine. This method sends no request to the service.
    public func remove(_ id: String, owner: String) async throws(AccountError) {
        try await errors { try folder.remove(folder.name(id, owner: owner).text) }
    }

    /// Removes blobs beyond the maximum size. This happens after the first stored blob of a process, and whenever the
    /// process has stored another eighth of the maximum size.
    private func makeRoom(for byteCount: Int) async {
        let isDue = newByteCount.withLock { count in
            let new = count.map { $0 + byteCount }
            count = new.map { $0 < maximumByteCount / 8 ? $0 : 0 } ?? 0
            return count == 0
        }
        if isDue { await BlockingWork.run { [folder, maximumByteCount] in folder.evict(to: maximumByteCount) } }
    }

    // MARK: User

    private func errors<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch {
            throw AccountError(blob: error)
        }
    }
}

extension OfflineBlobs: AccountLinkedStorage {
    /// Returns `nil`, because the app can download blobs again after a sign-out.
    public func unsentWork() async -> String? { nil }

    /// Removes all blobs from this machine.
    public func remove() async { await BlockingWork.run { [folder] in folder.removeAll() } }
}
