import AccountKit
import AccountTesting
import Foundation
import Synchronization
import TestScene

@testable import AccountDocuments

/// A user, an app's caches and a service with blobs for one test.
struct BlobScene: Sendable {
    let scene: TestScene
    let service = BlobService()

    init() async throws { scene = try await TestScene() }

    var clock: ManualClock { scene.clock }

    /// Opens the blobs in a new process.
    func open(
        _ remote: Files = Files(), maximumByteCount: Int = 4 << 30, maximumMemoryByteCount: Int = 1 << 20
    ) async throws -> OfflineBlobs {
        try await OfflineBlobs(
            "photos", remote, of: scene.store,
            in: AppContainer(root: scene.root, identifier: "com.example.notes"), maximumByteCount: maximumByteCount,
            maximumMemoryByteCount: maximumMemoryByteCount, clock: clock,
            sending: { [service] in try await service.send($0, $1, $2) })
    }

    /// The files of complete and partial blobs.
    var files: [String] { scene.files.filter { $0.contains("/Library/Caches/Offline/") } }
    var wholeFiles: [String] { files.filter { !$0.lastComponent.hasPrefix(".") } }
    var partialFiles: [String] { files.filter { $0.hasSuffix(".part") } }

    /// Creates a file to upload.
    func source(_ bytes: [UInt8], _ name: String = "source") throws -> String {
        try Data(bytes).write(to: URL(filePath: scene.root + "/" + name))
        return scene.root + "/" + name
    }

    /// Flips a bit of a byte in a file.
    func flip(_ path: String, at offset: Int) throws {
        var bytes = try scene.bytes(path)
        bytes[offset] ^= 1
        // Write in place, because a disk error changes only the damaged bytes.
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.write(contentsOf: bytes)
        try file.close()
    }

    /// Returns bytes in which all chunks differ.
    static func bytes(_ count: Int, seed: Int = 1) -> [UInt8] {
        var generator = SeededGenerator(seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: generator.next()) { bytes += $0 } }
        return Array(bytes.prefix(count))
    }
}

/// Collects reports during an operation.
final class Reports<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    var all: [Element] { elements.withLock { $0 } }
    func add(_ element: Element) { elements.withLock { $0.append(element) } }
}

/// A report of the progress of a transfer.
struct Progressed: Equatable {
    let completed: Int
    let total: Int?
}

extension Reports<Progressed> {
    func add(_ completed: Int, _ total: Int?) { add(Progressed(completed: completed, total: total)) }
}
