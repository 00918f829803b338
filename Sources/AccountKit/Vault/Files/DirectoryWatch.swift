import CAccountKitShims
import AccountSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Observes when an entry of a folder is created, written to, removed or renamed. On Linux a thread waits for
/// inotify(7), so an idle watch costs nothing. If inotify is not available, the watch polls the entry.
enum DirectoryWatch {
    fileprivate static let pollInterval: Duration = .milliseconds(90)

    /// Returns a stream of changes from now on. Several changes in quick succession may be one element.
    static func changes(of name: String, in folder: String) -> AsyncThrowingStream<Void, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        #if os(Linux)
        if let notifier = Notifier(folder: folder, name: name, continuation), notifier.start() {
            continuation.onTermination = { _ in notifier.stop() }
            return stream
        }
        #endif
        let path = folder + "/" + name
        // Read the identity now, since the task would not notice a change before it begins.
        let first = try? SystemCall.identity(path)
        let looking = Task { await look(at: path, knowing: first, continuation) }
        continuation.onTermination = { _ in looking.cancel() }
        return stream
    }

    private static func look(
        at path: String, knowing first: FileIdentity??,
        _ continuation: AsyncThrowingStream<Void, any Error>.Continuation
    ) async {
        var last = first
        while !Task.isCancelled {
            try? await Task.sleep(for: pollInterval)
            let now = try? SystemCall.identity(path)
            if now != last { continuation.yield() }
            last = now
        }
    }
}

#if os(Linux)
private final class Notifier: Sendable {
    private let notifications: Int32
    private let stopReader: Int32
    private let stopWriter: Int32
    private let folder: String
    private let name: String
    private let continuation: AsyncThrowingStream<Void, any Error>.Continuation

    init?(folder: String, name: String, _ continuation: AsyncThrowingStream<Void, any Error>.Continuation) {
        let notifications = inotify_init1(O_CLOEXEC)
        guard notifications >= 0 else { return nil }
        var ends: [Int32] = [-1, -1]
        guard Self.watch(folder, notifications), accountkit_pipe(&ends) == 0 else {
            close(notifications)
            return nil
        }
        self.notifications = notifications
        stopReader = ends[0]
        stopWriter = ends[1]
        self.folder = folder
        self.name = name
        self.continuation = continuation
    }

    // Close the descriptors only now: while the thread or its owner uses them, the numbers must not be reused.
    deinit {
        close(notifications)
        close(stopReader)
        close(stopWriter)
    }

    /// Starts a thread, which retains the notifier until the thread has stopped. Returns `false` if no thread can be
    /// created.
    func start() -> Bool { DedicatedThread.start { self.run() } == 0 }

    func stop() {
        var byte: UInt8 = 0
        _ = write(stopWriter, &byte, 1)
    }

    private func run() {
        var last: FileIdentity??
        var isFolderGone = false
        while true {
            switch wait(upTo: isFolderGone ? DirectoryWatch.pollInterval : nil) {
            case .stopped: return
            case .failed(let errno):
                return continuation.finish(
                    throwing: AccountError(
                        .inaccessible, "changes in \(folder) can no longer be observed",
                        cause: SystemCallError("poll", folder, errno: errno)))
            case .told:
                let (names, isLost) = readNames()
                if names.contains(name) { continuation.yield() }
                isFolderGone = isFolderGone || isLost
            case .timeIsUp: break
            }
            // The kernel does not report a new folder that replaces the watched folder.
            if isFolderGone {
                isFolderGone = !Self.watch(folder, notifications)
                let now = try? SystemCall.identity(path)
                if now != last { continuation.yield() }
                last = now
            }
        }
    }

    private var path: String { folder + "/" + name }
    private enum Waited { case told, timeIsUp, stopped, failed(errno: Int32) }

    private static func watch(_ folder: String, _ notifications: Int32) -> Bool {
        let events = IN_MOVED_TO | IN_MOVED_FROM | IN_MODIFY | IN_DELETE | IN_MOVE_SELF | IN_DELETE_SELF
        return inotify_add_watch(notifications, folder, UInt32(events)) >= 0
    }

    private func wait(upTo limit: Duration?) -> Waited {
        let milliseconds = limit.map { Int32($0.components.attoseconds / 1_000_000_000_000_000) } ?? -1
        while true {
            var waiting = [
                pollfd(fd: notifications, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stopReader, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&waiting, 2, milliseconds)
            let code = errno
            if count < 0, code == EINTR { continue }
            if waiting[1].revents != 0 { return .stopped }
            if count < 0 { return .failed(errno: code) }
            return count == 0 ? .timeIsUp : .told
        }
    }

    private func readNames() -> (names: Set<String>, isLost: Bool) {
        let headerByteCount = MemoryLayout<inotify_event>.size
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        let count = read(notifications, &buffer, buffer.count)
        var names: Set<String> = []
        var isLost = false
        var offset = 0
        while offset + headerByteCount <= count {
            let header = buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self) }
            let bytes = buffer[(offset + headerByteCount)...].prefix(Int(header.len)).prefix { $0 != 0 }
            names.insert(String(decoding: bytes, as: UTF8.self))
            // The kernel dropped notifications, so the entry may have changed.
            if header.mask & UInt32(IN_Q_OVERFLOW) != 0 { names.insert(name) }
            if header.mask & UInt32(IN_IGNORED | IN_MOVE_SELF | IN_DELETE_SELF) != 0 { isLost = true }
            offset += headerByteCount + Int(header.len)
        }
        return (names, isLost)
    }
}
#endif
