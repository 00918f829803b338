import AccountKit
import ArgumentParser

/// The options of a sign-in without a user: as a client, or with the identity of a workload.
struct MachineOptions<App: AccountApplication>: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            """
            Sign in as the client in --client-id, without a user; the client secret is in \(App.clientSecretVariable), \
            unless --client-key names a key.
            """,
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientCredentials = false

    @Flag(
        help: ArgumentHelp(
            """
            With --client-credentials, read the client secret from the first line of standard input. The secret is \
            not stored: later token requests need \(App.clientSecretVariable).
            """, visibility: App.acceptsIssuer ? .default : .hidden))
    var clientSecretStdin = false

    @Option(
        help: ArgumentHelp(
            """
            With --client-credentials, authenticate with the private key in this file instead of with a secret \
            (private_key_jwt). Only the path is stored: each token request reads the file.
            """, valueName: "file", visibility: App.acceptsIssuer ? .default : .hidden))
    var clientKey: String?

    @Option(
        name: .customLong("client-key-id"),
        help: ArgumentHelp(
            "Key ID (kid) in the assertions that --client-key signs.", valueName: "id",
            visibility: App.acceptsIssuer ? .default : .hidden))
    var clientKeyID: String?

    @Option(
        help: ArgumentHelp(
            "Audience of the assertions that --client-key signs, or that --workload must have (default: the issuer).",
            valueName: "audience", visibility: App.acceptsIssuer ? .default : .hidden))
    var clientAssertionAudience: String?

    @Option(
        help: ArgumentHelp(
            """
            Sign in with the identity that the platform gives this program, without a user: github-actions, gitlab, \
            'env NAME', 'file PATH' or 'command PROGRAM ARGUMENTS'. Each token request uses a new assertion.
            """, valueName: "source", visibility: App.acceptsIssuer ? .default : .hidden))
    var workload: String?

    @Option(
        help: ArgumentHelp(
            """
            How the service accepts the assertion of --workload: client-assertion, jwt-bearer or token-exchange \
            (default: the first one that its metadata lists).
            """, valueName: "grant", visibility: App.acceptsIssuer ? .default : .hidden))
    var workloadGrant: String?

    /// Whether an option requests a sign-in without a user.
    var isGiven: Bool { clientCredentials || workload != nil }

    func validate() throws {
        if workload == nil, workloadGrant != nil { throw ValidationError("--workload-grant requires --workload") }
        if clientCredentials || workload != nil, !App.acceptsIssuer {
            let option = clientCredentials ? "--client-credentials" : "--workload"
            throw ValidationError("this tool does not support \(option): its service is fixed")
        }
        guard clientCredentials else {
            let keyOptions = [
                ("--client-secret-stdin", clientSecretStdin), ("--client-key", clientKey != nil),
                ("--client-key-id", clientKeyID != nil),
            ]
            if let given = keyOptions.first(where: \.1) {
                throw ValidationError("\(given.0) requires --client-credentials")
            }
            if clientAssertionAudience != nil, workload == nil {
                throw ValidationError("--client-assertion-audience requires --client-key or --workload")
            }
            return
        }
        if workload != nil {
            throw ValidationError("--workload cannot be combined with --client-credentials")
        }
        if clientKey != nil, clientSecretStdin {
            throw ValidationError("choose one of --client-key and --client-secret-stdin")
        }
        if clientKey == nil, clientKeyID != nil || clientAssertionAudience != nil {
            throw ValidationError("--client-key-id and --client-assertion-audience require --client-key")
        }
    }
}
