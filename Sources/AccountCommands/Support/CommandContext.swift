package import AccountKit
package import Logging

/// The container, session, stores and services that a command works with.
package struct CommandContext<App: AccountApplication>: Sendable {
    let options: CommonOptions
    package let container: AppContainer
    package let preferences: Preferences
    package let session: SessionName

    /// The location of sessions; `nil` for the files of the container.
    let location: StoreLocation?

    /// The vault of the session, which ignores a token from the environment.
    let vault: Vault

    private let stores: CommandStores
    package private(set) var logger: Logger?

    /// The store of the session. If the environment contains a token, the account in this store consists of that token.
    package var store: AccountStore { stores.store }

    /// The store of the archive, which ignores a token from the environment.
    package var archive: AccountStore { stores.archive }

    package let hint: CommandHint

    /// Creates the context from the options and the environment. If `isInteractive` is `false`, the vault and the stores
    /// do not ask for a passphrase.
    package init(_ options: CommonOptions, session: SessionName? = nil, isInteractive: Bool = true) throws {
        self.options = options
        container = try App.container()
        preferences = Preferences(container: container)
        self.session = try session ?? App.chosenSession(options.session.map(SessionName.init), preferences)
        // Omit the name of the default session if a command without --session uses that session. If the setting is
        // unreadable, include the name.
        let isChosen = session != nil || options.session != nil
        var hint = CommandHint(
            session: self.session,
            isNamed: self.session != .default
                || isChosen && (try? App.chosenSession(nil, preferences)) != .default,
            store: options.store)
        let (preferences, name) = (preferences, self.session)
        hint.endedSessionNote = {
            // Without readable settings, only the note is missing.
            guard let service = try? preferences.service(of: name)?.name else { return nil }
            return App.service(named: service)?.endedSessionNote
        }
        self.hint = hint
        location = App.storeLocation(options.store)
        if options.verbose {
            logger = Logger(label: CommandLine.programName) { StreamLogHandler.standardError(label: $0) }
            logger?.logLevel = .debug
        }
        vault = try App.vault(
            of: self.session, in: container, at: location, isInteractive: isInteractive, logger: logger)
        stores = CommandStores(vault, tokenStore: App.tokenStore(of: self.session, logger: logger))
    }

    package func hint(for other: SessionName) -> CommandHint {
        other == session ? hint : CommandHint(session: other, store: options.store)
    }

    /// Returns a new store without cached state.
    package func archive(of session: SessionName, isInteractive: Bool = true) throws -> AccountStore {
        let store = AccountStore(
            try App.vault(of: session, in: container, at: location, isInteractive: isInteractive, logger: logger)
        )
        .leavingRevocations()
        store.observeExchanges(SignalGuard.shared)
        return store
    }

    func archive(with keySources: [KeySource]) throws -> AccountStore {
        AccountStore(try App.vault(of: session, in: container, at: location, with: keySources, logger: logger))
            .leavingRevocations()
    }

    /// Returns the existing sessions, with the default session first.
    package func sessions() async throws -> [SessionName] {
        guard let location else { return try container.sessions() }
        do {
            return try await App.sessions(at: location.text, in: container, logger: logger)
        } catch let error as AccountError {
            throw location.naming(error)
        }
    }

    var archivePlace: String { location?.text ?? container.archivePath(of: session) }

    package var tool: String { CommandLine.toolName }

    /// The store of this command that has tokens which could not be stored; `nil` if there is none.
    var storeWithUnsavedTokens: AccountStore? { stores.existing.first { $0.hasUnsavedTokens } }

    /// Waits for pending requests. Call this after all output, because the requests may take a long time.
    package func finishPendingRequests() async {
        let stores = stores.existing
        guard !stores.isEmpty else { return }
        await Waiting.toFinish(SignalGuard.shared.timeLeft) {
            for store in stores { await store.finishPendingRequests() }
        }
    }

    package func refuseEnvironmentToken(to what: String) throws {
        guard App.environmentToken != nil else { return }
        throw AccountError(
            .invalidArgument,
            "\(App.tokenVariable) is set, so AccountKit uses it instead of the archive", hint: "unset it to \(what)")
    }
}
