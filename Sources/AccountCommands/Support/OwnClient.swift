import AccountKit
import AccountSupport

/// What this machine itself names for the session of a client without a user: with options of its own sign-in, or with
/// variables.
///
/// In a shared store, another machine may have written the archive. The archive must not choose a key with which this machine
/// signs, the service and the audience that it signs for, or a file or variable that it sends to that service.
struct OwnClient: Sendable, Equatable {
    /// The service.
    var issuer: String?

    /// The file with the client's key, and the audience of its assertions.
    var key: ClientKeyFile?

    /// The source of the assertions of a workload, as the words in an archive, or as the value of the option in one word.
    var workload: [String]?

    /// Something that the settings do not name, with the end of its variable's name, and its option.
    struct Missing: Sendable, Equatable {
        let name: String
        let variable: String
        let option: String
    }

    /// Returns what a session requires and the settings do not name; empty if this machine may authenticate for the session.
    func missing(for account: Account) -> [Missing] {
        guard let machine = account.credentials.machine else { return [] }
        var result: [Missing] = []
        if issuer == nil || issuer?.withoutEndingSlash != account.issuer?.withoutEndingSlash {
            result.append(Missing(name: "the service", variable: "ISSUER", option: "--issuer URL"))
        }
        if machine.key != nil, key == nil {
            result.append(Missing(name: "the client key", variable: "CLIENT_KEY", option: "--client-key FILE"))
        }
        if key?.audience != machine.key?.audience, machine.key != nil {
            result.append(
                Missing(
                    name: "the audience of its assertions", variable: "CLIENT_ASSERTION_AUDIENCE",
                    option: "--client-assertion-audience AUDIENCE"))
        }
        if machine.workload != nil, workload == nil {
            result.append(
                Missing(name: "the source of the assertions", variable: "WORKLOAD", option: "--workload SOURCE"))
        }
        return result
    }

    /// Returns the service of a session, with the key and the source of these settings, and without a key, a source and a
    /// secret if the settings do not name everything.
    func limiting(_ service: AccountService, of account: Account) -> AccountService {
        guard let machine = account.credentials.machine else { return service }
        var service = service
        let isComplete = missing(for: account).isEmpty
        service.clientKey = machine.key != nil && isComplete ? key : nil
        // Any key ID is harmless, and some services require one.
        if service.clientKey != nil { service.clientKeyID = key?.id ?? machine.key?.id }
        service.workload = machine.workload != nil && isComplete ? workload : nil
        if service.workload == nil { service.workloadGrant = nil }
        if !isComplete { service.clientSecret = nil }
        return service
    }
}

extension CommandContext {
    /// Returns what the settings of this machine name for a session. Only the session that the user chose uses the variables.
    func ownClient(of session: SessionName) -> OwnClient {
        // Unreadable settings name nothing.
        let stored = try? preferences.client(of: session)
        var own = OwnClient(
            issuer: readableService(of: session)?.issuer, key: stored?.key, workload: stored?.workload)
        guard session == chosenSession else { return own }
        own.issuer = Environment.value(App.ownVariable("ISSUER")) ?? own.issuer
        own.workload = Environment.value(App.ownVariable("WORKLOAD")).map { [$0] } ?? own.workload
        if let path = Environment.value(App.ownVariable("CLIENT_KEY")) { own.key = ClientKeyFile(path: path) }
        if let id = Environment.value(App.ownVariable("CLIENT_KEY_ID")) { own.key?.id = id }
        if let audience = Environment.value(App.ownVariable("CLIENT_ASSERTION_AUDIENCE")) {
            own.key?.audience = audience
        }
        return own
    }

    /// Returns the key with which this machine would sign for a session, if any.
    func clientKey(of account: Account, in session: SessionName? = nil) -> ClientKeyFile? {
        guard location != nil, App.acceptsIssuer else { return account.credentials.machine?.key }
        return account.credentials.machine?.key == nil ? nil : ownClient(of: session ?? self.session).key
    }

    /// Returns why this machine must not authenticate as the client of a session in a shared store; `nil` if it may.
    ///
    /// - Parameter isShared: Whether the archive is in a shared store; `nil` for the location of this command.
    func ownClientProblem(
        of account: Account, in session: SessionName? = nil, isShared: Bool? = nil
    ) -> AccountError? {
        guard isShared ?? (location != nil), App.acceptsIssuer else { return nil }
        let missing = ownClient(of: session ?? self.session).missing(for: account)
        guard !missing.isEmpty else { return nil }
        func list(_ texts: [String]) -> String { texts.joined(separator: " and ") }
        return AccountError(
            .misconfigured,
            "the session is in a shared store, which does not choose what this machine signs or sends, and the settings of this "
                + "machine do not name \(list(missing.map(\.name)))",
            hint: "set \(list(missing.map { App.ownVariable($0.variable) })), or sign in on this machine with "
                + list(missing.map(\.option)))
    }

    /// Throws an error if this machine must not authenticate as the client of a session in a shared store.
    func checkOwnClient(of account: Account, in session: SessionName? = nil) throws(AccountError) {
        if let problem = ownClientProblem(of: account, in: session) { throw problem }
    }
}

extension AccountApplication {
    static func ownVariable(_ name: String) -> String { environmentPrefix + "_" + name }
}

extension String {
    var withoutEndingSlash: Substring { hasSuffix("/") ? dropLast() : self[...] }
}
