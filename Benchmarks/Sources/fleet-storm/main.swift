import AccountFleet
import AccountHTTP
import AccountKit
import Foundation
import SampleAccount

// Simulates many machines that share a session, in few processes. The key is in ACCOUNT_KEY.
//
// fleet-storm sign-in STORE ROOT ISSUER: signs the sample account in, with an expired access token.
//
// fleet-storm take STORE ROOT ISSUER COUNT: creates COUNT stores with separate storages and folders, and prints `ready`. For each line on
// standard input, all stores perform the next step at once. Then a line shows how many stores succeeded, the number of different results,
// and the milliseconds of the fastest and the slowest store. In the first step, the stores read the archive, which is one round trip. In
// the second step, they request a token.
let arguments = CommandLine.arguments
guard arguments.count >= 5 else {
    preconditionFailure("usage: fleet-storm sign-in|take STORE ROOT ISSUER [COUNT]")
}
let (task, location, root, issuer) = (arguments[1], try EtcdLocation(arguments[2]), arguments[3], arguments[4])

/// A simulated machine.
func makeStore(_ name: String) throws -> AccountStore {
    let container = try AppContainer(root: "\(root)/\(name)", identifier: "storm")
    return try AccountStore(
        at: location, container: container,
        keySources: [.environment(variable: "ACCOUNT_KEY", credential: "account.key")])
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

/// Performs a step with all stores at once, and prints the result.
func together(_ body: @escaping @Sendable (AccountStore) async throws -> String) async throws {
    _ = readLine()
    let start = ContinuousClock.now
    let (served, results, times, failure) = await withTaskGroup(of: (String?, Duration, String?).self) { group in
        for store in stores {
            group.addTask {
                do {
                    return (try await body(store), ContinuousClock.now - start, nil)
                } catch {
                    return (nil, ContinuousClock.now - start, "\(error)")
                }
            }
        }
        var (served, results, times, failure) = (0, Set<String>(), [Duration](), String?.none)
        for await (result, duration, error) in group {
            if let result {
                served += 1
                results.insert(result)
                times.append(duration)
            }
            failure = failure ?? error
        }
        return (served, results, times.map { Int($0 / .milliseconds(1)) }, failure)
    }
    if let failure { FileHandle.standardError.write(Data("\(failure)\n".utf8)) }
    try say("\(served) \(results.count) \(times.min() ?? 0) \(times.max() ?? 0)")
}

func say(_ line: String) throws {
    try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}

// Prepare everything that a machine does before it needs a token.
for store in stores { _ = await store.load() }
try say("ready")
try await together { await $0.load().account?.id ?? "" }
try await together { store in
    let authority = try OAuthAuthority(issuer: issuer, clientID: "bench")
    return try await store.accessToken(timeout: .seconds(120), with: authority).reveal()
}
