public import AccountKit
import AccountSupport
public import Logging

extension AccountApplication {
    /// Returns the folders of the app: subfolders of `<PREFIX>_HOME` if this variable is set, otherwise the standard
    /// folders of the platform.
    ///
    /// - Throws: `AccountError.Code.invalidArgument` if the variable is not an absolute path, or if
    ///   ``environmentPrefix`` is not valid in a shell.
    public static func container() throws(AccountError) -> AppContainer {
        guard isVariableName(environmentPrefix) else {
            throw AccountError(
                .invalidArgument,
                "\"\(environmentPrefix)\", the prefix of the app \(identifier), is not valid in environment variables",
                hint: "set another environmentPrefix, such as \"NOTES\"")
        }
        // Each command and each store of the app begins here, so no program starts before this.
        SecretVariables.add(prefix: environmentPrefix)
        try AppContainer.checkPaths(in: [environmentPrefix + "_HOME"])
        if let home = Environment.value(environmentPrefix + "_HOME") {
            return try AppContainer(root: home, identifier: identifier)
        }
        do {
            return try AppContainer(identifier: identifier)
        } catch {
            // A token in the environment needs no file. By convention, this folder never exists.
            guard environmentToken != nil else { throw error }
            return try AppContainer(root: "/nonexistent", identifier: identifier)
        }
    }

    /// Returns a setting, or `value` if the setting cannot be read and a token from the environment replaces the archive.
    private static func setting<Value>(
        or value: Value, _ read: () throws(AccountError) -> Value
    ) throws(AccountError) -> Value {
        do {
            return try read()
        } catch {
            guard environmentToken != nil else { throw error }
            return value
        }
    }

    /// Returns the store that the app's account commands use, with the folders of ``container()`` and the keys that the
    /// user configured.
    ///
    /// If `<PREFIX>_TOKEN` is set, the account consists of that token, and AccountKit never stores the token. Signing
    /// in, signing out and changing the account fail with `invalidArgument`. Until the service has identified the user,
    /// the account's `id` is the name of the variable.
    ///
    /// A signal ends the process only after pending tokens are stored; see `AccountStore.delaySignals()`.
    ///
    /// ```swift
    /// AccountStore.shared = try Notes.store()
    /// ```
    ///
    /// - Parameters:
    ///   - session: The session; `nil` for the session in `<PREFIX>_SESSION`, otherwise the session set by `switch`.
    ///   - logger: The logger; `nil` for none. AccountKit never logs secrets or personal data.
    /// - Throws: The errors of ``container()``, and `misconfigured` if the settings of the commands are not valid.
    public static func store(
        session: SessionName? = nil, logger: Logger? = nil
    ) throws(AccountError) -> AccountStore {
        let container = try container()
        let session = try chosenSession(session, Preferences(container: container))
        let store =
            if let store = tokenStore(of: session, logger: logger) {
                store
            } else {
                AccountStore(try vault(of: session, in: container, at: storeLocation(nil), logger: logger))
            }
        store.delaySignals()
        return store
    }

    /// Returns a store for the token from the environment; `nil` if there is none.
    static func tokenStore(of session: SessionName, logger: Logger?) -> AccountStore? {
        environmentToken.map {
            AccountStore(token: $0, from: tokenVariable, appIdentifier: identifier, session: session, logger: logger)
        }
    }

    /// Returns the vault of a session, which ignores a token from the environment.
    static func vault(
        of session: SessionName, in container: AppContainer, at location: StoreLocation?, isInteractive: Bool = true,
        logger: Logger?
    ) throws(AccountError) -> Vault {
        let keys = try setting(or: KeySettings()) { () throws(AccountError) in
            try Preferences(container: container).keySettings(of: session)
        }
        return try vault(
            of: session, in: container, at: location,
            with: try keys.sources(of: session, Self.self, isInteractive: isInteractive), logger: logger)
    }

    static func vault(
        of session: SessionName, in container: AppContainer, at location: StoreLocation?,
        with keySources: [KeySource], logger: Logger?
    ) throws(AccountError) -> Vault {
        guard let location else {
            return Vault(container: container, session: session, keySources: keySources, logger: logger)
        }
        do {
            return try store(
                at: location.text, of: session, in: container, keySources: keySources, logger: logger
            ).vault
        } catch {
            throw location.naming(error)
        }
    }

    package static func chosenSession(
        _ session: SessionName?, _ preferences: Preferences
    ) throws(AccountError) -> SessionName {
        if let session { return session }
        if let name = Environment.value(sessionVariable) { return try SessionName(name) }
        return try setting(or: .default) { () throws(AccountError) in try preferences.defaultSession() }
    }

    package static func isVariableName(_ text: String) -> Bool {
        let isLetter = { (byte: UInt8) in
            byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

extension AccountApplication {
    package static var tokenVariable: String { environmentPrefix + "_TOKEN" }
    static var storeVariable: String { environmentPrefix + "_STORE" }

    /// Returns the location of sessions, from the option or the environment; `nil` for files on this machine.
    static func storeLocation(_ option: String?) -> StoreLocation? {
        let location =
            option.map { StoreLocation(text: $0, source: "--store") }
            ?? Environment.value(storeVariable).map { StoreLocation(text: $0, source: storeVariable) }
        return location?.isFiles == true ? nil : location
    }

    package static var environmentToken: Secret? { Environment.value(tokenVariable).map { Secret($0) } }
    static var keyVariable: String { environmentPrefix + "_KEY" }
    static var sessionVariable: String { environmentPrefix + "_SESSION" }
    static var clientSecretVariable: String { environmentPrefix + "_CLIENT_SECRET" }
}

extension CommandLine {
    /// The name of these commands on the command line: `account`, or `gists account` if they are part of `gists`.
    package static let toolName = toolName(of: arguments)

    /// Returns the name of the tool in a link such as `docker-credential-account`; `nil` if the command has another
    /// name.
    static func dockerHelperName(of arguments: [String]) -> String? {
        let prefix = "docker-credential-"
        guard let name = arguments.first?.split(separator: "/").last, name.hasPrefix(prefix) else { return nil }
        return name.count > prefix.count ? String(name.dropFirst(prefix.count)) : nil
    }

    static let programName = programName(of: arguments)

    private static func programName(of arguments: [String]) -> String {
        arguments.first?.split(separator: "/").last.map(String.init) ?? "account"
    }

    static func toolName(of arguments: [String]) -> String {
        if let name = dockerHelperName(of: arguments) { return name }
        let name = programName(of: arguments)
        // Also recognize `gists help account login`.
        let word = arguments.dropFirst().first { $0 != "help" && !$0.hasPrefix("-") }
        return word == "account" ? name + " account" : name
    }
}
