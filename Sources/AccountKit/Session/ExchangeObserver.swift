/// Observes token exchanges, so that a command can delay signals during one.
package protocol ExchangeObserver: Sendable {
    /// An exchange begins, and may take up to `limit`. Another one may be in progress.
    func exchangeBegan(limit: Duration)
    /// The tokens of the exchange are stored or revoked.
    func exchangeEnded()
    var isInterrupted: Bool { get }
}
