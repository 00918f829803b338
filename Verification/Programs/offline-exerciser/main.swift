#if Offline
import AccountKit
import AccountDocuments
import AccountOffline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// A process with offline data, which the fault tests kill, starve and run concurrently:
//
//     offline-exerciser ROOT SERVICE sign-in
//     offline-exerciser ROOT SERVICE seed COUNT         creates the notes "seed 1", "seed 2" … at the service
//     offline-exerciser ROOT SERVICE do CHANGE ...      stores each change, and prints "done N": create=TEXT,
//                                                       edit=TEXT=NEW, delete=TEXT, star=TEXT, unstar=TEXT
//     offline-exerciser ROOT SERVICE sync               sends the pending changes
//     offline-exerciser ROOT SERVICE refresh            fetches all pages of the list
//     offline-exerciser ROOT SERVICE save COUNT         saves a document with COUNT items
//     offline-exerciser ROOT SERVICE sign-out
//     offline-exerciser ROOT SERVICE inspect            prints the content as JSON
//
// SERVICE is a file with the notes of a service: a line for each change that took effect. If LOSSES is set to a number,
// it seeds random faults of about every second request: lost before or after it takes effect, limited, failed, or answered
// by a captive portal, by a proxy or with another note. AHEAD is the number of seconds by which the clock of this machine is ahead. A TEXT with the word
// "long" becomes longer than the service sends at once. Exits with 0, with 1 after an error in one line, or with 2 if
// changes are still pending.

let arguments = CommandLine.arguments
guard arguments.count >= 4 else { fatalError("usage: see the head of main.swift") }
let words = Array(arguments[4...])

do throws(any Error) {
    let container = try AppContainer(root: arguments[1], identifier: "exerciser")
    let store = AccountStore(container: container)
    let service = NoteFile(
        path: arguments[2], losses: ProcessInfo.processInfo.environment["LOSSES"].flatMap(UInt64.init))
    let clock = WrongClock(ahead: ProcessInfo.processInfo.environment["AHEAD"].flatMap(Double.init) ?? 0)
    func notes() async throws -> OfflineCollection<NoteRemote> {
        try await OfflineCollection(
            "notes", NoteRemote(), of: store, in: container, clock: clock, sending: { try service.send($0, $1) })
    }
    let document = try DocumentArchive<[String]>("Items", in: container)
    /// The id of the note with a string, created at the service or locally.
    func id(of text: String, _ notes: OfflineCollection<NoteRemote>) async throws -> String {
        guard let row = try await notes.snapshot(of: "all", limit: 10_000).rows.first(where: { $0.item.name == text })
        else { throw AccountError(.invalidArgument, "there is no note \(text)") }
        return row.id
    }

    switch arguments[3] {
    case "sign-in":
        try await store.signIn {
            let credentials = Credentials(
                accessToken: Secret("canary-access-7f3a"), issuedAt: Date(timeIntervalSince1970: 1_800_000_000))
            return Account(id: "1", username: "alice", credentials: credentials)
        }
    case "seed":
        for number in 1...(Int(words[0]) ?? 1) { try service.create("canary seed \(number)") }
    case "do":
        let notes = try await notes()
        for (number, operation) in words.enumerated() {
            let parts = operation.split(separator: "=").map(String.init)
            let body = Data(Note.text(named: parts.last ?? "").utf8)
            switch parts[0] {
            case "create": try await notes.add(Change(.create, body: body))
            case "edit": try await notes.add(Change(.update, of: id(of: parts[1], notes), body: body))
            default:
                try await notes.add(Change(ChangeKind(rawValue: parts[0]), of: id(of: parts[1], notes)))
            }
            print("done \(number + 1)")
            fflush(nil)
        }
        await notes.close()
    case "sync":
        let notes = try await notes()
        let report = try await notes.synchronize(ignoringBackOff: true)
        await notes.close()
        print("faults: \(service.faults)")
        if let problem = report.problem { print("problem: \(problem)") }
        print("sent \(report.sentCount), \(report.pending.map { "\($0.state): \($0.lastProblem ?? "")" })")
        if !report.pending.isEmpty { exit(2) }
    case "refresh":
        let notes = try await notes()
        try await notes.refreshAll("all")
        await notes.close()
    case "save":
        let count = Int(words[0]) ?? 1
        try await document.change(from: []) { $0 = (1...count).map { "item \($0)" } }
    case "sign-out":
        let notes = try await notes()
        try await store.signOut()
        await notes.remove()
    case "inspect":
        guard await store.load().account != nil else {
            print(#"{"signedIn":false}"#)
            exit(0)
        }
        let notes = try await notes()
        let rows = try await notes.snapshot(of: "all", limit: 10_000).rows.map(\.item)
        let found = Found(
            signedIn: true, notes: rows.map(\.name), starred: rows.filter(\.isStarred).map(\.name),
            pending: try await notes.pendingChanges().map {
                "\($0.change.kind.rawValue) \(String(decoding: $0.change.body.prefix(40), as: UTF8.self)) \($0.state.rawValue)"
            },
            dropped: notes.droppedLists.map { "\($0)" }, items: try document.read()?.count ?? 0)
        await notes.close()
        print(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
    default: fatalError("usage: see the head of main.swift")
    }
} catch {
    print("error: \(error)")
    exit(1)
}

/// A clock that differs from the clock of the machine.
struct WrongClock: WallClock {
    let ahead: TimeInterval

    var now: Date { Date().addingTimeInterval(ahead) }
}

struct Found: Encodable {
    let signedIn: Bool
    let notes: [String]
    let starred: [String]
    let pending: [String]
    let dropped: String?
    let items: Int
}
#else
fatalError("build it with the trait Offline")
#endif
