/// Told about token exchanges, so that a command can hold signals back while one is under way.
package protocol ExchangeObserver: Sendable {
    /// An exchange is about to be sent, and may take up to `limit`. May be called while another is under way.
    func exchangeBegan(limit: Duration)
    /// Its outcome is stored, or has been revoked.
    func exchangeEnded()
    /// Whether the person, or the system, has asked the process to stop meanwhile.
    var isInterrupted: Bool { get }
}
