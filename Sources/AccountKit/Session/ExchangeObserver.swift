/// Observes token exchanges, so that a command can delay signals during an exchange.
package protocol ExchangeObserver: Sendable {
    /// An exchange begins, and may take up to `limit`. Another exchange may be in progress.
    func exchangeBegan(limit: Duration)
    /// The tokens of the exchange are stored or revoked.
    func exchangeEnded()
    var isInterrupted: Bool { get }
}
