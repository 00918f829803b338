import AccountKit

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

// A process that the system tests run concurrently, trace, starve and kill:
//
//     archive-exerciser ROOT sign-in [SESSION]    signs in "alice", with tokens that a search would find
//     archive-exerciser ROOT update COUNT         adds one to the points COUNT times
//     archive-exerciser ROOT read                 prints the state and the points
//     archive-exerciser ROOT refresh [BALLAST]    refreshes; the disk fills up during the request
//     archive-exerciser ROOT refresh-slowly       prints "asked" during the request, and continues after an input line
//     archive-exerciser ROOT refresh-late         refreshes; another process signs out during the request
//     archive-exerciser ROOT sign-out
//     archive-exerciser ROOT sign-in-bob          signs in "bob", in place of any other user
//     archive-exerciser ROOT follow [LAST]        prints a line for the state and for each change, until LAST
//     archive-exerciser ROOT leave                signs out while the service is unreachable
//     archive-exerciser ROOT note COUNT           stores a string of COUNT characters in the profile
//     archive-exerciser ROOT register NAME        registers the app at a service as the client NAME, if it is not that client
//     archive-exerciser ROOT sign-in-registering  registers the app as the client "first", and signs in "alice"
//     archive-exerciser ROOT forget-client        removes the registration
//     archive-exerciser ROOT inspect [ROOT ...]   prints the content of each container in one line
//     archive-exerciser ROOT inspect-client [ROOT ...]  prints the registration and the content of each container
//     archive-exerciser FILE make-key
//
// Prints one line and exits with 0, or prints an error and exits with 1. EXERCISER_APP is the app of the container.

/// A service that issues new tokens, and first fills the disk with files of this name.
struct Service: AccountAuthority {
    var issuer: String? { nil }
    var ballast: String?

    /// Whether the service waits for an input line.
    var isSlow = false

    /// Runs during the request.
    var meanwhile: @Sendable () async throws -> Void = {}

    func verify(_ account: Account) async throws -> Identity { Identity(id: account.id) }

    func refresh(_ account: Account) async throws -> Credentials {
        if isSlow {
            print("asked")
            // Without a flush, a pipe receives whole pages only.
            fflush(nil)
            _ = readLine()
        }
        var count = 0
        while let ballast, (try? Data(count: 4096).write(to: URL(filePath: "\(ballast)-\(count)"))) != nil {
            count += 1
        }
        try await meanwhile()
        return Credentials(
            accessToken: Secret("canary-access-8e4b"), refreshToken: Secret("canary-refresh-a2cd"), tokenType: "DPoP",
            issuedAt: Date(timeIntervalSince1970: 1_800_003_600))
    }

    func revoke(_ account: Account) async throws -> RevocationOutcome { throw AuthorityError.noResponse(.unreachable) }

    func isAuthority(of account: Account) -> Bool { true }
}

/// The key to which the tokens of each sign-in are bound.
let proofKey = Secret("canary-proof-key-of-32-bytes-4d1")

/// The content of a container, with the tokens by name.
func description(of container: AppContainer) async -> String {
    let store = AccountStore(container: container)
    let state = await store.load()
    let rest: String
    do {
        let intent = try await store.unfinishedRefresh() == nil ? "no" : "yes"
        rest = "intent=\(intent) revocations=\(try await store.pendingRevocations().count)"
    } catch {
        rest = "intent=? revocations=?"
    }
    guard let account = state.account else {
        if case .unreadable(let error) = state { return "unreadable \(error.code) \(rest)" }
        return "out \(rest)"
    }
    var note = 0
    if case .string(let text) = account.profile["note"] { note = text.count }
    let tokens = ["canary-access-7f3a": "first", "canary-access-8e4b": "second"]
    var token = tokens.first { account.credentials.accessToken == Secret($0.key) }?.value ?? "other"
    // The tokens of a sign-in with this program are useless without their key.
    if token != "other", account.credentials.proofKey != proofKey { token += "-without-its-key" }
    return "in \(account.username ?? "?") points=\(account.profile.points) token=\(token) "
        + "note=\(note) \(rest)"
}

/// The service of the registrations.
let issuer = "https://service.example"

/// Registers the app at the service, unless it is registered as this client.
func register(_ clientID: String, in container: AppContainer) async throws {
    _ = try await ClientRegistrations(container: container).renew(at: issuer, timeout: .seconds(10)) { stored in
        if let stored, stored.clientID == clientID { return stored }
        return ClientRegistration(
            issuer: issuer, clientID: clientID, clientSecret: Secret("canary-client-5d0e"),
            redirectURI: "http://127.0.0.1:8400/callback", scopes: ["openid"], grants: ["authorization_code"],
            management: .init(url: issuer + "/register/1", token: Secret("canary-management-77c1")),
            createdAt: Date(timeIntervalSince1970: 1_800_000_000))
    }
}

/// The registration in a container: its client, "none", or "damaged".
func registeredClient(in container: AppContainer) async throws -> String {
    let registrations = ClientRegistrations(container: container)
    if let found = try await registrations.registration(at: issuer) { return found.clientID }
    let folder = container.documentsPath + "/Clients"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.contains { $0.hasPrefix("Client-") } ? "damaged" : "none"
}

func signIn(_ session: SessionName = .default, in container: AppContainer, clientID: String? = nil) async throws {
    var credentials = Credentials(
        accessToken: Secret("canary-access-7f3a"), refreshToken: Secret("canary-refresh-91bc"), tokenType: "DPoP",
        clientID: clientID, issuedAt: Date(timeIntervalSince1970: 1_800_000_000))
    credentials.proofKey = proofKey
    try await AccountStore(container: container, session: session).signIn {
        Account(id: "1", username: "alice", credentials: credentials, profile: ["email": "alice@example.com"])
    }
}

/// Refreshes, and returns whether the next process has the new tokens. The functions of AccountKit run on the actor of the
/// caller, and a refresh is a separate task. This function is not on the main actor, so that one thread makes all calls.
func refresh(in container: AppContainer, with service: Service) async throws -> Bool {
    try await AccountStore(container: container).refresh(with: service)
    let stored = await AccountStore(container: container).load().account
    return stored?.credentials.accessToken == Secret("canary-access-8e4b")
}

/// Refreshes while another process signs out, and returns the number of pending revocations.
func refreshLate(in container: AppContainer) async throws -> Int {
    let store = AccountStore(container: container)
    do {
        // Acts like another process.
        try await store.refresh(with: Service { try await AccountStore(container: container).signOut() })
    } catch {
        if error.code != .notSignedIn { throw error }
    }
    return try await store.pendingRevocations().count
}

/// Signs out, not on the main actor either: the store revokes the tokens in a separate task.
func leave(_ container: AppContainer) async throws -> RevocationOutcome {
    try await AccountStore(container: container).signOut(with: Service()).revocation
}

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { fatalError("usage: see the head of main.swift") }
let app = ProcessInfo.processInfo.environment["EXERCISER_APP"] ?? "exerciser"
let container = try AppContainer(root: arguments[1], identifier: app)
let argument = arguments.count > 3 ? arguments[3] : nil

do {
    switch arguments[2] {
    case "sign-in":
        let session = try argument.map { name throws(AccountError) in try SessionName(name) } ?? .default
        try await signIn(session, in: container)
        print("signed in")
    case "update":
        let store = AccountStore(container: container)
        let count = argument.flatMap(Int.init) ?? 1
        for _ in 0..<count {
            try await store.update { $0.profile["points"] = .integer($0.profile.points + 1) }
        }
        print("updated \(count)")
    case "read":
        switch await AccountStore(container: container).load() {
        case .verified(let account), .unverified(let account, _): print("signed in, \(account.profile.points)")
        case .signedOut: print("signed out")
        case .unreadable(let error): print("unreadable \(error.code)")
        }
    case "refresh", "refresh-slowly":
        let service = Service(ballast: argument, isSlow: arguments[2] == "refresh-slowly")
        print("refreshed, \(try await refresh(in: container, with: service))")
    case "refresh-late":
        print("signed out, \(try await refreshLate(in: container)) pending revocations")
    case "sign-in-bob":
        let credentials = Credentials(
            accessToken: Secret("canary-access-b0b1"), refreshToken: Secret("canary-refresh-b0b2"),
            issuedAt: Date(timeIntervalSince1970: 1_800_000_000))
        let store = AccountStore(container: container)
        try await store.signIn { Account(id: "2", username: "bob", credentials: credentials) }
        print("signed in, \(try await store.pendingRevocations().count) pending revocations")
    case "leave":
        switch try await leave(container) {
        case .queued: print("left, undelivered")
        case .lost: print("left, lost")
        case .done, .notNeeded, .refused, .notSupported: print("left")
        }
    case "note":
        let text = String(repeating: "n", count: argument.flatMap(Int.init) ?? 0)
        try await AccountStore(container: container).update { $0.profile["note"] = .string(text) }
        print("noted")
    case "register":
        try await register(argument ?? "first", in: container)
        print("registered")
    case "sign-in-registering":
        try await register("first", in: container)
        try await signIn(in: container, clientID: "first")
        print("signed in")
    case "forget-client":
        let registrations = ClientRegistrations(container: container)
        if let found = try await registrations.registration(at: issuer) { try await registrations.remove(found) }
        print("forgotten")
    case "inspect-client":
        for root in [arguments[1]] + arguments.dropFirst(3) {
            let container = try AppContainer(root: root, identifier: app)
            let client: String
            do {
                client = try await registeredClient(in: container)
            } catch let error as AccountError {
                client = "\(error.code)"
            }
            print("client \(client), \(await description(of: container))")
        }
    case "inspect":
        for root in [arguments[1]] + arguments.dropFirst(3) {
            print(await description(of: try AppContainer(root: root, identifier: app)))
        }
    case "make-key":
        _ = try await KeyFile(path: arguments[1]).makeKey()
        print("made")
    case "sign-out":
        try await AccountStore(container: container).signOut()
        print("signed out")
    case "follow":
        let store = AccountStore(container: container)
        let events = store.events()
        let following = Task { try await store.observeExternalChanges() }
        for await event in events {
            var line: String?
            switch event {
            case .loaded(let user), .signedIn(let user), .refreshed(let user), .updated(let user):
                line = "signed in, \(user.profile.points)"
            case .signedOut: line = "signed out"
            default: break
            }
            if let line { print(line) }
            // Without a flush, a pipe receives whole pages only.
            fflush(nil)
            if let line, line == argument { break }
        }
        following.cancel()
        try await following.value
    default:
        fatalError("unknown: \(arguments[2])")
    }
} catch let error as AccountError {
    // The tests check the failed system call, which the description omits.
    let call = (error.cause as? SystemCallError).map { " [\($0.debugDescription)]" } ?? ""
    print("\(error.code): \(error)\(call)")
    exit(1)
}

extension UserProfile {
    /// The field that `update` increments.
    fileprivate var points: Int64 { if case .integer(let points)? = self["points"] { points } else { 0 } }
}
