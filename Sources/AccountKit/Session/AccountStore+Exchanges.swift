import AccountSupport

extension AccountStore {
    /// Waits until the tokens of all pending requests are stored or revoked.
    ///
    /// Call this function before the process ends. A refresh token or sign-in code is spent as soon as it is sent, so a
    /// process that ends before it has stored the response may lose the session. If a function of this store was
    /// cancelled or timed out, its request continues for at most ``AccountAuthority/tokenRequestTimeout``. If tokens
    /// could not be saved before, this function tries again. If this fails, the tokens are lost when the process ends.
    /// A refresh that was cancelled before its request was sent releases its lease. If there are no pending requests,
    /// the function returns at once.
    public func finishPendingRequests() async {
        await flows.exchanges.finish()
        await flows.refreshes.finishGivenUp()
        guard vault.unsaved.storedAccount != nil else { return }
        // The task may already be cancelled when the process ends.
        await shielded { [vault] in await vault.saveUnsaved(timeout: vault.lockTimeout) }
    }

    package var hasUnsavedTokens: Bool { vault.unsaved.storedAccount != nil }

    package var hasFinishedExchanges: Bool { flows.exchanges.isEmpty }

    package func observeExchanges(_ observer: any ExchangeObserver) {
        flows.exchanges.observe(observer)
    }
}
