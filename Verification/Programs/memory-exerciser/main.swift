import AccountHTTP
import AccountKit

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// A process whose memory the system tests search:
//
//     memory-exerciser ROOT [ISSUER [ASSERTION]]
//
// Loads the signed-in account and uses it, in steps. After each step it prints a line and waits for an input line. With
// a service it also refreshes, checks the session, and revokes the tokens on sign-out. With the file of an assertion it
// signs in as a workload, refreshes and signs out.

/// A service that is never called.
struct NoService: AccountAuthority {
    var issuer: String? { nil }

    func verify(_ account: Account) async throws -> Identity { throw AuthorityError.noResponse(.refused) }
    func refresh(_ account: Account) async throws -> Credentials { throw AuthorityError.noResponse(.refused) }
    func isAuthority(of account: Account) -> Bool { true }
}

func pause(_ step: String) {
    print(step)
    fflush(nil)
    _ = readLine()
}

let arguments = CommandLine.arguments
guard arguments.count >= 2 else { fatalError("usage: see the head of main.swift") }
let store = AccountStore(container: try AppContainer(root: arguments[1], identifier: "exerciser"))
let service = try arguments.count > 2 ? OAuthAuthority(issuer: arguments[2], clientID: "tool") : nil
let authority: any AccountAuthority = service ?? NoService()

if arguments.count > 3 {
    let workload = try OAuthAuthority(
        issuer: arguments[2], machine: .workload(.file(arguments[3]), clientID: "tool", grant: .jwtBearer))
    try await store.signIn { try await workload.signInAsClient() }
    pause("signed in")
    try await store.refresh(with: workload)
    pause("refreshed")
    _ = try await store.signOut(with: workload)
    pause("signed out")
    exit(0)
}

_ = await store.load()
let length = try await store.accessToken(with: authority).withBytes { $0.byteCount }
pause("loaded \(length > 0)")
try await store.update { $0.profile["points"] = 1 }
pause("updated")
if service != nil {
    try await store.refresh(with: authority)
    pause("refreshed")
    guard case .verified = await store.checkSession(with: authority) else { fatalError("the service did not answer") }
    pause("checked")
}
_ = try await store.signOut(with: service)
pause("signed out \(store.account == nil)")
