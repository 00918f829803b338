/// What has been sent to the service, and is finished whatever becomes of those who asked for it.
extension AccountStore {
    /// Waits until the token exchanges that are under way have been stored, or revoked.
    ///
    /// For an app's own end. A refresh token that was sent is spent, and so is the code of a sign-in: a process that ends
    /// before the response is stored may lose the login. A function of this store that was cancelled, or whose time was over, has left its
    /// exchange behind, which goes on for at most ``AccountAuthority/tokenRequestTimeout``. Tokens that could not be saved when they
    /// came are saved now if that can be done; otherwise they are lost when the process ends. A refresh that was given up before it was
    /// sent lets go of its lease, for which other machines would wait. Returns at once if there is nothing to wait for.
    public func finishPendingRequests() async {
        await driver.exchanges.finish()
        await driver.refreshes.finishGivenUp()
        guard driver.archive.unsaved.storedAccount != nil else { return }
        // Whoever ends is often cancelled.
        await shielded { [driver] in await driver.saveUnsaved(timeout: driver.lockTimeout) }
    }

    /// Whether there are new tokens that could not be saved, and that nobody knows once this process has ended.
    package var hasUnsavedTokens: Bool { driver.archive.unsaved.storedAccount != nil }

    package var hasFinishedExchanges: Bool { driver.exchanges.isEmpty }

    package func observeExchanges(_ observer: any ExchangeObserver) {
        driver.exchanges.observe(observer)
    }
}
