extension AccountStore {
    /// Waits until each token exchange that this store has sent is finished: its outcome stored, or revoked.
    ///
    /// Worth doing before a process ends. Each exchange has a deadline of its own, so this takes a minute at most; without an
    /// exchange under way it returns at once.
    public func finishExchanges() async {}

    /// Has someone told about the exchanges that this store sends from now on.
    package func observeExchanges(_ observer: any ExchangeObserver) {}
}
