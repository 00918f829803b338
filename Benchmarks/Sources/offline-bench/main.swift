import AccountDocuments
import AccountKit
import AccountOffline
import Foundation

// Lists of any size, for the benchmarks. Each command prints its measurements in seconds, one name and number per line.
//
//     offline-bench fill ROOT COUNT BYTES     a first synchronization of COUNT rows, in pages of a hundred
//     offline-bench pages ROOT COUNT          the first thirty rows, and the last thirty
//     offline-bench unchanged ROOT            the pages that are written when the service has nothing new
//     offline-bench hold ROOT                 keeps the lists open until its input ends
//     offline-bench download ROOT ORIGIN ID   downloads a file from a server
//     offline-bench upload ROOT ORIGIN FILE   uploads a file to a server

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { fatalError("usage: see the head of main.swift") }
let numbers = arguments.dropFirst(3).compactMap { Int($0) }
// The container of `gists`, so that `gists` can show the rows.
let container = try AppContainer(root: arguments[2], identifier: "com.example.gists")
let store = AccountStore(container: container)
if await store.load().account == nil {
    try await store.signIn {
        let credentials = Credentials(accessToken: Secret("benchmark-access-token"), issuedAt: Date())
        return Account(id: "1", issuer: "https://bench.example.com", username: "bench", credentials: credentials)
    }
}
let remote = BenchRemote(count: numbers.first ?? 100_000, byteCount: numbers.count > 1 ? numbers[1] : 300)
let gists = try await OfflineCollection(
    "gists", remote, of: store, in: container, maximumListBytes: 64 << 30, sending: { try remote.send($0, $1) })

/// The median time of many runs, in seconds.
func median(_ count: Int, _ body: () async throws -> Void) async rethrows -> Double {
    var times: [Double] = []
    for _ in 0..<count {
        let start = ContinuousClock.now
        try await body()
        times.append(start.duration(to: .now) / .seconds(1))
    }
    return times.sorted()[count / 2]
}

switch arguments[1] {
case "fill":
    print("fill", try await median(1) { try await gists.refreshAll("mine") })
case "pages":
    let last = BenchRemote.id(remote.count - 31)
    let found = try await gists.snapshot(of: "mine", after: last).rows.count
    precondition(found == 30)
    var first: [Double] = [], final: [Double] = []
    for _ in 0..<20 {
        first.append(try await median(20) { _ = try await gists.snapshot(of: "mine") })
        final.append(try await median(20) { _ = try await gists.snapshot(of: "mine", after: last) })
    }
    print("first", first.sorted()[10])
    print("last", final.sorted()[10])
case "unchanged":
    let log = try files(named: "Lists.sqlite-wal")
    let snapshot = try await gists.refresh("mine")
    precondition(snapshot.source == .notModified)
    let after = try files(named: "Lists.sqlite-wal")
    // A frame of the log consists of a page and 24 bytes, and the log begins with a header of 32 bytes.
    precondition(log == 0)
    print("pages", (after - 32) / (4096 + 24))
case "hold":
    _ = try await gists.snapshot(of: "mine")
    print("held 0")
    fflush(nil)
    _ = readLine()
case "download":
    let blobs = try await BenchBlobs(origin: arguments[3]).collection(of: store, in: container)
    print("seconds", try await median(1) { _ = try await blobs.blob(arguments[4], owner: "bench") })
case "upload":
    let blobs = try await BenchBlobs(origin: arguments[3]).collection(of: store, in: container)
    print(
        "seconds", try await median(1) { try await blobs.upload(contentsOf: arguments[4], as: "sent", owner: "bench") })
default: fatalError("usage: see the head of main.swift")
}
await gists.close()

/// The total size of the files with this name.
func files(named name: String) throws -> Int {
    let paths = FileManager.default.enumerator(atPath: arguments[2])?.compactMap { $0 as? String } ?? []
    return try paths.filter { $0.hasSuffix("/" + name) }.reduce(0) { sum, path in
        sum + (try FileManager.default.attributesOfItem(atPath: arguments[2] + "/" + path)[.size] as? Int ?? 0)
    }
}
