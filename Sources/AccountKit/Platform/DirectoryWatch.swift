#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Tells when an entry of a folder is put in place or removed.
///
/// On Linux the kernel tells (inotify(7)): a thread sleeps until it does, so an idle watch costs nothing. Where the kernel
/// cannot, the folder's entry is looked at twice a second.
enum DirectoryWatch {
    /// Changes of the entry `name` from now on; several that come close together are one.
    static func changes(of name: String, in folder: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        #if os(Linux)
        if let notifier = Notifier(folder: folder, name: name, continuation) {
            continuation.onTermination = { _ in notifier.stop() }
            notifier.start()
            return stream
        }
        #endif
        let looking = Task { await look(at: folder + "/" + name, continuation) }
        continuation.onTermination = { _ in looking.cancel() }
        return stream
    }

    private static func look(at path: String, _ continuation: AsyncStream<Void>.Continuation) async {
        var last = try? SystemCall.identity(path)
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(500))
            let now = try? SystemCall.identity(path)
            if now != last { continuation.yield() }
            last = now
        }
    }
}

#if os(Linux)
/// A thread that waits for the kernel, and a pipe that ends the wait.
private final class Notifier: Sendable {
    private let notifications: Int32
    private let stopReader: Int32
    private let stopWriter: Int32
    private let name: String
    private let continuation: AsyncStream<Void>.Continuation

    init?(folder: String, name: String, _ continuation: AsyncStream<Void>.Continuation) {
        let notifications = inotify_init1(O_CLOEXEC)
        guard notifications >= 0 else { return nil }
        var ends: [Int32] = [-1, -1]
        guard inotify_add_watch(notifications, folder, UInt32(IN_MOVED_TO | IN_DELETE)) >= 0,
            pipe(&ends) == 0
        else {
            close(notifications)
            return nil
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        self.notifications = notifications
        stopReader = ends[0]
        stopWriter = ends[1]
        self.name = name
        self.continuation = continuation
    }

    /// Starts the thread, which holds the notifier until it has stopped.
    func start() {
        var thread = pthread_t()
        let retained = Unmanaged.passRetained(self).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<Notifier>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, retained)
        if status == 0 {
            pthread_detach(thread)
        } else {
            Unmanaged<Notifier>.fromOpaque(retained).release()
            continuation.finish()
        }
    }

    func stop() {
        var byte: UInt8 = 0
        _ = write(stopWriter, &byte, 1)
    }

    private func run() {
        while waitForNotification() {
            if readNames().contains(name) { continuation.yield() }
        }
        close(notifications)
        close(stopReader)
        close(stopWriter)
    }

    /// Sleeps until the kernel has something to tell; `false` once the watch was stopped.
    private func waitForNotification() -> Bool {
        while true {
            var waiting = [
                pollfd(fd: notifications, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stopReader, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waiting, 2, -1) < 0 {
                if errno == EINTR { continue }
                return false
            }
            return waiting[1].revents == 0
        }
    }

    /// The names in the notifications that have come.
    private func readNames() -> Set<String> {
        let headerByteCount = MemoryLayout<inotify_event>.size
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        let count = read(notifications, &buffer, buffer.count)
        var names: Set<String> = []
        var offset = 0
        while offset + headerByteCount <= count {
            let header = buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self) }
            let bytes = buffer[(offset + headerByteCount)...].prefix(Int(header.len)).prefix { $0 != 0 }
            names.insert(String(decoding: bytes, as: UTF8.self))
            // The kernel dropped some: assume the best of them.
            if header.mask & UInt32(IN_Q_OVERFLOW) != 0 { names.insert(name) }
            offset += headerByteCount + Int(header.len)
        }
        return names
    }
}
#endif
