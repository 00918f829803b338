import AccountCommands
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

// A process whose instructions Scripts/speed.py counts:
//
//     speed-exerciser ROOT sign-in APP    signs in a typical account, in the container of the app with that identifier
//     speed-exerciser ROOT load COUNT     opens the archive COUNT times, like a new process
//     speed-exerciser ROOT save COUNT     changes the account COUNT times
//     speed-exerciser ROOT read COUNT     reads the shared account COUNT times

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { fatalError("usage: see the head of main.swift") }
let isSignIn = arguments[2] == "sign-in"
let container = try AppContainer(
    root: arguments[1], identifier: isSignIn && arguments.count > 3 ? arguments[3] : "account")
let count = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 0

/// A typical account. Its tokens have an unknown expiry, so that no refresh is needed. Its service is on port 1, where
/// usually no program listens, so that each connection is refused.
@Sendable func usualAccount() -> Account {
    let issued = Date(timeIntervalSince1970: 1_700_000_000)
    return Account(
        id: "248289761001", issuer: "http://127.0.0.1:1", username: "alice",
        credentials: Credentials(
            accessToken: Secret(String(repeating: "a", count: 900)),
            refreshToken: Secret(String(repeating: "r", count: 64)),
            idToken: Secret(String(repeating: "i", count: 900)), scopes: ["openid", "profile", "email"],
            clientID: "account-cli", issuedAt: issued),
        profile: [
            "name": "Alice Example", "preferred_username": "alice", "email": "alice@example.com",
            "email_verified": true,
            "picture": "https://login.example.com/alice.png", "groups": ["staff", "admins"],
            "updated_at": 1_799_999_999,
            "points": 0,
        ], verifiedAt: issued)
}

MainThreadExecutor.run {
    let store = AccountStore(container: container)
    do {
        switch arguments[2] {
        case "sign-in": try await store.signIn { usualAccount() }
        case "load":
            for _ in 0..<count {
                guard await AccountStore(container: container).load().account != nil else { exit(1) }
            }
        case "save":
            for _ in 0..<count { try await store.update { $0.profile["points"] = $0.profile["points"] == 1 ? 0 : 1 } }
        case "read":
            _ = await store.load()
            for _ in 0..<count { guard store.account != nil else { exit(1) } }
        default: fatalError("unknown: \(arguments[2])")
        }
    } catch {
        print(error)
        exit(1)
    }
    exit(0)
}
