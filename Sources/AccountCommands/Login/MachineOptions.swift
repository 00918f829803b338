import AccountKit
import ArgumentParser

/// The options of a sign-in without a user: as a client, or with the identity of a workload.
struct MachineOptions<App: AccountApplication>: ParsableArguments {
    @Flag(help: "Sign in as the client in --client-id. The default, unless --workload is given.")
    var clientCredentials = false

    @Flag(
        help: """
            Read the client secret from the first line of standard input, instead of from \(App.clientSecretVariable). The \
            secret is not stored: later token requests need \(App.clientSecretVariable).
            """)
    var clientSecretStdin = false

    @Option(
        help: ArgumentHelp(
            """
            Authenticate with the private key in this file instead of with a secret (private_key_jwt). Only the path \
            is stored: each token request reads the file.
            """, valueName: "file"))
    var clientKey: String?

    @Option(
        name: .customLong("client-key-id"),
        help: ArgumentHelp("Key ID (kid) in the assertions that --client-key signs.", valueName: "id"))
    var clientKeyID: String?

    @Option(
        help: ArgumentHelp(
            "Audience of the assertions that --client-key signs, or that --workload must have (default: the issuer).",
            valueName: "audience"))
    var clientAssertionAudience: String?

    @Option(
        help: ArgumentHelp(
            """
            Sign in with the identity that the platform gives this program: github-actions, gitlab, 'env NAME', 'file \
            PATH' or 'command PROGRAM ARGUMENTS'. Each token request uses a new assertion.
            """, valueName: "source"))
    var workload: String?

    @Option(
        help: ArgumentHelp(
            """
            How the service accepts the assertion of --workload: client-assertion, jwt-bearer or token-exchange \
            (default: the first one that its metadata lists).
            """, valueName: "grant"))
    var workloadGrant: String?

    /// Whether an option requests a sign-in without a user.
    var isGiven: Bool { clientCredentials || workload != nil }

    /// Whether an option says how to authenticate as a client.
    var authenticatesClient: Bool { clientSecretStdin || clientKey != nil || clientKeyID != nil }

    /// Refuses contradictory options.
    func check() throws {
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
                guard workload == nil else { throw ValidationError("\(given.0) cannot be combined with --workload") }
                throw ValidationError("\(given.0) is for a sign-in without a user", hint: "use `login machine`")
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
