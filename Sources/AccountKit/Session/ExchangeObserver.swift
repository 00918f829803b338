/// Observes token exchanges, so that a command can delay signals during one.
package protocol ExchangeObserver: Sendable {
    /// An exchange begins, and may take up to `limit`. Another one may be in progress.
    func exchangeBegan(limit: Duration)
    /// The tokens of the exchange are stored or revoked.
    func exchangeEnded()
    /// Whether the user or the system has asked the process to stop.
    var isInterrupted: Bool { get }
}
