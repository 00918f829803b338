import AccountHTTP
import AccountKit

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// A process whose memory the system tests look through:
//
//     memory-exerciser ROOT [ISSUER]
//
// Loads the account that is signed in there and uses it, in steps. After each it prints a line, and goes on when it is
// given one. With a service it also refreshes, asks whose the token is, and tells the service of the sign-out.

/// A service that is never asked.
struct NoService: AccountAuthority {
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
