import AccountKit
import AccountSupport
import Synchronization

/// A user's file during an upload, with an encrypted copy that becomes the stored blob if the service accepts the
/// upload.
final class UploadedFile: Sendable {
    private struct State: ~Copyable {
        var input: FileDescriptor?
        var sentByteCount = 0
        var failure: AccountError?
    }

    let byteCount: Int
    private let path: String
    /// The copy, or `nil` if there is none. If the copy fails, the upload continues.
    private let copy: Mutex<PartialBlob?>
    private let state = Mutex(State())
    private let report: BlobProgress

    init(
        _ path: String, report: @escaping BlobProgress, copyingTo makeCopy: (Int) -> PartialBlob?
    ) throws(AccountError) {
        self.path = path
        let file = try path.openFile(followingLinks: true)
        byteCount = try mapping(path) { () throws(SystemCallError) in try file.status().byteCount }
        copy = Mutex(makeCopy(byteCount))
        self.report = report
    }

    var failure: AccountError? { state.withLock { $0.failure } }

    func takeCopy() -> PartialBlob? {
        let copy = copy.withLock { $0.take() }
        guard let copy, copy.byteCount == byteCount else {
            copy?.discard()
            return nil
        }
        return copy
    }

    func discardCopy() { copy.withLock { $0.take() }?.discard() }

    func pieces() throws -> AsyncThrowingStream<Data, any Error> {
        var input: FileDescriptor? = try path.openFile(followingLinks: true)
        state.withLock { state in
            state.input = input.take()
            state.sentByteCount = 0
        }
        writeCopy { try $0.begin(BlobRecord(entityTag: nil, contentType: nil, byteCount: nil)) }
        return AsyncThrowingStream { try await BlockingWork.run { try self.next() } }
    }

    private func next() throws -> Data? {
        let (piece, sent) = try state.withLock { state throws -> ([UInt8], Int) in
            let count = min(byteCount - state.sentByteCount, ChunkSeal.chunkByteCount)
            do {
                guard count > 0, let piece = try state.input?.piece(byteCount: count) else { return ([], 0) }
                guard piece.count == count else {
                    throw AccountError(.inaccessible, "\(path) was changed while it was sent")
                }
                state.sentByteCount += count
                return (piece, state.sentByteCount)
            } catch {
                let failure =
                    error as? AccountError ?? AccountError(.inaccessible, "\(path) cannot be read", cause: error)
                state.failure = failure
                throw failure
            }
        }
        guard !piece.isEmpty else { return nil }
        writeCopy { try $0.append(piece) }
        report(sent, byteCount)
        return Data(piece)
    }

    private func writeCopy(_ body: (PartialBlob) throws -> Void) {
        copy.withLock { copy in
            guard let partial = copy else { return }
            do {
                try body(partial)
            } catch {
                // Continue without a copy, because the app can download the blob later.
                partial.discard()
                copy = nil
            }
        }
    }
}
