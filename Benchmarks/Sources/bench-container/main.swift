import AccountKit
import SampleAccount

// bench-container ROOT [--session NAME] [--issuer URL]: signs the sample account in, in a container of the
// `account` command.
var arguments = Array(CommandLine.arguments.dropFirst())

@MainActor func option(_ name: String) -> String? {
    guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
    defer { arguments.removeSubrange(index...index + 1) }
    return arguments[index + 1]
}

// An authority that is never called.
let issuer = option("--issuer") ?? "https://login.example.com"
let session = try option("--session").map { try SessionName($0) } ?? .default
guard arguments.count == 1 else {
    preconditionFailure("usage: bench-container ROOT [--session NAME] [--issuer URL]")
}
let store = AccountStore(container: try AppContainer(root: arguments[0], identifier: "account"), session: session)
try await store.signIn { Account.sample(issuer: issuer) }
