import AccountFleet
import AccountHTTP
import AccountKit
import Foundation
import SampleAccount

// Many machines that share a session, in few processes. The key is in ACCOUNT_KEY.
//
// fleet-storm sign-in STORE ROOT ISSUER: signs the sample account in, with an access token that has expired.
//
// fleet-storm take STORE ROOT ISSUER COUNT: COUNT stores with storages and folders of their own. Prints `ready`, waits for a line on
// standard input, asks each store for a token at once, and prints how many got one, how many different ones they are, and the
// milliseconds that the slowest took.
let arguments = CommandLine.arguments
guard arguments.count >= 5 else {
    preconditionFailure("usage: fleet-storm sign-in|take STORE ROOT ISSUER [COUNT]")
}
let (task, location, root, issuer) = (arguments[1], try EtcdLocation(arguments[2]), arguments[3], arguments[4])

/// A machine of its own.
func makeStore(_ name: String) throws -> AccountStore {
    let container = try AppContainer(root: "\(root)/\(name)", identifier: "storm")
    return AccountStore(
        storage: try EtcdArchiveStorage(location: location, container: container), appIdentifier: "storm",
        keySources: [EnvironmentKey(variable: "ACCOUNT_KEY", credential: "account.key")])
}

if task == "sign-in" {
    _ = try await makeStore("first").signIn {
        var account = Account.sample(issuer: issuer)
        account.credentials.expiresAt = Date(timeIntervalSinceNow: -60)
        return account
    }
    exit(0)
}

let stores = try (0..<(Int(arguments[5]) ?? 0)).map {
    try makeStore("\(ProcessInfo.processInfo.processIdentifier)-\($0)")
}
// Everything that a machine does before it needs a token.
for store in stores { _ = await store.load() }
try FileHandle.standardOutput.write(contentsOf: Data("ready\n".utf8))
_ = readLine()
let start = ContinuousClock.now
let (served, tokens, slowest, failure) = await withTaskGroup(of: (Secret?, Duration, String?).self) { group in
    for store in stores {
        group.addTask {
            do {
                let authority = try OAuthAuthority(issuer: issuer, clientID: "bench")
                let token = try await store.accessToken(timeout: .seconds(120), with: authority)
                return (token, ContinuousClock.now - start, nil)
            } catch {
                return (nil, ContinuousClock.now - start, "\(error)")
            }
        }
    }
    var (served, tokens, slowest, failure) = (0, Set<String>(), Duration.zero, String?.none)
    for await (token, duration, error) in group {
        if let token {
            served += 1
            tokens.insert(token.reveal())
        }
        slowest = max(slowest, duration)
        failure = failure ?? error
    }
    return (served, tokens, slowest, failure)
}
if let failure { FileHandle.standardError.write(Data("\(failure)\n".utf8)) }
print(served, tokens.count, Int(slowest / .milliseconds(1)))
