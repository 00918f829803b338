import AccountKit

/// The memory of processes, and the results of operations.
extension Judge {
    /// Checks that the memory of each process agrees with its events, and that each event was true. Called whenever all tasks wait.
    func settle() {
        // For this mistake, wait until there may be two events to swap.
        if world.mistake == .swapsEvents, world.happens(0.7) { return }
        for process in world.processes where process.isAlive {
            var events = process.heard
            process.heard = []
            if world.mistake == .swapsEvents, events.count > 1 { events.reverse() }
            for (event, account) in events { hear(event, account, process) }
            if process.store?.account != process.account {
                violate(
                    .eventForEveryChange,
                    "\(process.name) has \(process.store?.account?.token ?? "nobody") in memory, and the events told of "
                        + "\(process.account?.token ?? "nobody")")
            }
            for version in process.endedLoads where !world.weather.canLockBeLost && !holds(process, since: version) {
                violate(
                    .memoryAndDiskAgree,
                    "\(process.name) has read the archive, but its memory has an account that was replaced before")
            }
            process.endedLoads = []
        }
    }

    private func hear(_ event: AccountEvent, _ account: Account?, _ process: SimulatedProcess) {
        let text = event.text(account)
        world.note("\(process.name): event \(text)")
        let old = process.account
        let isFitting: Bool
        switch event {
        case .loaded(let user):
            isFitting = old == nil && !process.isKnown && isOf(user, account)
            process.account = account
        case .signedIn(let user):
            isFitting = isOf(user, account) && (old == nil || old?.tokens.grant != account?.tokens.grant)
            process.account = account
        case .refreshed(let user):
            isFitting =
                isOf(user, account)
                && isChange(from: old, to: account) { $0.isSameUser(as: $1) && $0.tokens != $1.tokens }
            process.account = account
        case .updated(let user):
            isFitting = isOf(user, account) && isChange(from: old, to: account) { $0.isSameGrant(as: $1) && $0 != $1 }
            process.account = account
        case .signedOut:
            isFitting = old != nil
            process.account = nil
        case .durabilityUnknown, .missed: return
        }
        process.isKnown = true
        // A process that lost the lock before it received the result of a write publishes the change too late.
        if world.weather.canLockBeLost || process.hearsTooLate { return }
        if !isFitting {
            violate(.eventForEveryChange, "\(process.name) had \(old?.token ?? "nobody"), and heard \(text)")
        }
        // The event may skip versions, but must not be about an earlier version.
        if let version = versions[process.seenVersion...].firstIndex(where: {
            $0.account == process.account && !$0.isUnreadable
        }) {
            process.seenVersion = version
        } else if !isUnsaved(process.account, process) {
            violate(
                .eventForEveryChange,
                "\(process.name) received \(text), which was not stored since its last event")
        }
    }

    private func isOf(_ user: Identity, _ account: Account?) -> Bool { account.map(Identity.init) == user }

    private func isChange(
        from old: Account?, to new: Account?, _ isFitting: (Account, Account) -> Bool
    ) -> Bool {
        guard let old, let new else { return false }
        return isFitting(old, new)
    }

    private func isUnsaved(_ account: Account?, _ process: SimulatedProcess) -> Bool {
        guard let tokens = account?.tokens else { return false }
        return process.unsaved.contains(tokens) || process.unwritten.contains { $0.tokens == tokens }
    }

    /// Whether the memory of the process contains an account that was stored since a version, or unsaved tokens.
    private func holds(_ process: SimulatedProcess, since version: Int) -> Bool {
        let account = process.store?.account
        return isUnsaved(account, process)
            || versions[version...].contains { $0.isUnreadable || $0.account == account }
    }

    // MARK: Results of operations

    func ended(_ operation: Operation, _ outcome: Operation.Outcome) {
        look(operation, outcome)
        switch outcome {
        case .state(.verified(let account)):
            check(account.token, operation)
            checkIsNotWithheld(account.token, operation)
        case .state(.unverified(let account, _)):
            world.coverage.count(.kept)
            check(account.token, operation)
        case .state(.signedOut): checkNobody(operation)
        case .state(.unreadable): return
        case .account(let account):
            check(account.token, operation)
            if operation.kind == .refresh, operation.read.contains(account.tokens) {
                violate(.memoryAndDiskAgree, "refresh returned \(account.token), which it should have replaced")
            }
        case .accessToken(let token):
            check(token, operation)
            checkIsNotWithheld(token, operation)
        case .derivedToken(let token):
            checkDerived(token, operation)
            checkIsNotWithheld(token, operation)
        case .signedOut(let report): if report.account == nil { checkNobody(operation) }
        case .failed(let error):
            // A user whose token has expired and cannot be refreshed stays signed in.
            if error.code == .notSignedIn, operation.kind != .accessToken || !hasEndedToken(operation) {
                checkNobody(operation)
            }
        case .done: return
        }
        checkRefusalIsReported(operation, outcome)
        if operation.kind == .load { operation.process.endedLoads.append(operation.firstVersion) }
    }

    /// Checks what a caller hears who needed a token, and whose session the service does not renew: that only another sign-in
    /// helps, and not that the app is misconfigured or that the service is in trouble.
    private func checkRefusalIsReported(_ operation: Operation, _ outcome: Operation.Outcome) {
        guard operation.isNotRenewed, !world.weather.canLockBeLost else { return }
        switch (operation.kind, outcome) {
        case (.check, .state(.unverified(let account, let reason))),
            (.checkIfOld, .state(.unverified(let account, let reason))):
            if reason.code == .renewalRefused { return world.coverage.count(.renewalRefused) }
            guard [.misconfigured, .unclearReply, .serverError].contains(reason.code), !account.credentials.isWithheld
            else { return }
            violate(.refusalToRenewIsReported, "\(operation.kind) \(operation.number): \(reason)")
        case (.accessToken, .failed(let error)), (.callAPI, .failed(let error)):
            if error.code == .renewalRefused { return world.coverage.count(.renewalRefused) }
            let isOther = error.message.contains("\(UnverifiedReason(.replacedMeanwhile))")
            guard [.misconfigured, .serviceUnavailable].contains(error.code), !isOther,
                versions.last!.account?.credentials.isWithheld != true
            else { return }
            violate(.refusalToRenewIsReported, "\(operation.kind) \(operation.number): \(error)")
        default: return
        }
    }

    private func look(_ operation: Operation, _ outcome: Operation.Outcome) {
        let process = operation.process
        let exchanges = world.turns.filter { $0.process === process && $0.call.isExchange }
        if operation.kind == .finishPendingRequests, exchanges.contains(where: { $0.number <= operation.firstTurn }) {
            violate(.everythingEnds, "\(process.name) has waited for its exchanges, but one is left")
        }
        if exchanges.contains(where: { $0.operation === operation }) { world.coverage.count(.callerLeft) }
        guard case .failed(let error) = outcome else { return }
        if operation.kind == .accessToken, error.code == .serviceUnavailable, operation.requestCount == 0 {
            world.coverage.count(.leftAlone)
        }
        if operation.hasStored, error.code == .cancelled {
            violate(
                .memoryAndDiskAgree, "\(operation.kind) reported that nothing was changed, but has stored an account")
        }
    }

    /// Checks that a token was stored since the operation began, or could not be stored.
    private func check(_ token: String, _ operation: Operation) {
        let process = operation.process
        let isStored = versions[operation.firstVersion...].contains { $0.account?.token == token }
        guard isStored || process.unsaved.contains(where: { "a\($0.text)" == token }) else {
            violate(.memoryAndDiskAgree, "\(operation.kind) returned \(token), which was not stored at that time")
            return
        }
        guard [.refresh, .accessToken, .callAPI, .check].contains(operation.kind),
            versions[operation.firstVersion].account?.token != token,
            let issued = issued(token)
        else { return }
        if issued.process !== process { world.coverage.count(.adoption) }
        if issued.process === process, issued.operation !== operation { world.coverage.count(.join) }
    }

    private func checkIsNotWithheld(_ token: String, _ operation: Operation) {
        guard withheld[token] != nil, !world.weather.canLockBeLost else { return }
        violate(.withheldTokensAreNotReturned, "\(operation.kind) returned \(token), which no program may get")
    }

    /// Checks that a token for another API was stored with the account, unless the disk failed. After three refused
    /// changes, AccountKit returns the token without storing it.
    private func checkDerived(_ token: String, _ operation: Operation) {
        let isStored = versions[operation.firstVersion...].contains { version in
            version.account?.credentials.derivedTokens.contains { $0.credentials.token == token } == true
        }
        guard !isStored, !wasHindered, !world.weather.canLockBeLost, operation.process.refusedChangeCount < 3 else {
            return
        }
        violate(.memoryAndDiskAgree, "\(operation.kind) returned \(token), which was not stored at that time")
    }

    private func hasEndedToken(_ operation: Operation) -> Bool {
        versions[operation.firstVersion...].contains { version in
            guard let credentials = version.account?.credentials, credentials.refreshToken == nil else { return false }
            return credentials.expiresAt != nil
        }
    }

    private func checkNobody(_ operation: Operation) {
        guard !versions[operation.firstVersion...].contains(where: \.isAbsent) else { return }
        violate(
            .onlyUserOrRejectionClears,
            "\(operation.kind) reported a sign-out, although an account was stored all the time")
    }

    // MARK: The end

    /// Checks memory and disk after all operations have ended and each process has read the archive.
    func checkAgreement(isStrict: Bool, _ processes: [SimulatedProcess]) {
        guard !versions.last!.isUnreadable else { return }
        for process in processes {
            let account = process.store?.account
            if account == versions.last!.account || !isStrict && isUnsaved(account, process) { continue }
            violate(
                .memoryAndDiskAgree,
                "in the end \(process.name) has \(account?.token ?? "nobody") in memory, and "
                    + "\(versions.last!.account?.token ?? "nobody") is stored\(process.isFollowing ? "; it follows" : "")"
            )
        }
    }
}

extension Judge.Version {
    var isUnreadable: Bool { if case .unreadable = self { true } else { false } }
}

extension AccountEvent {
    fileprivate func text(_ account: Account?) -> String {
        let token = account?.token ?? "nobody"
        return switch self {
        case .loaded: "loaded \(token)"
        case .signedIn: "signed in \(token)"
        case .refreshed: "refreshed \(token)"
        case .updated: "updated \(token)"
        case .signedOut(let signOut): "signed out (\(signOut.reason.rawValue))"
        case .durabilityUnknown: "durability unknown"
        case .missed(let count): "missed \(count)"
        }
    }
}
