/// A request to the listener of a sign-in with a browser.
struct LoopbackRequest: Sendable {
    var method: String
    var target: String

    /// The values of all `Host` header fields.
    var hosts: [String]
    var port: Int

    /// Where the service sends the browser, unless another URI is registered.
    static let callbackPath = "/callback"

    /// Where the browser goes from there, so that the code does not stay in its address bar.
    static let resultPath = "/done"

    enum Route: Equatable {
        case callback(query: Substring)
        case result
        case unknown
        /// Not a request that a browser on this machine would make for these pages.
        case malformed
    }

    func route(callback callbackPath: String = Self.callbackPath, result resultPath: String = Self.resultPath) -> Route
    {
        // A page whose host name was pointed here has that name in `Host` (DNS rebinding).
        guard method == "GET", hosts.count == 1, isOwn(hosts[0]), target.hasPrefix("/") else { return .malformed }
        let path = target.prefix { $0 != "?" }
        let query = target[path.endIndex...].dropFirst()
        return switch path {
        case callbackPath: .callback(query: query)
        case resultPath: .result
        default: .unknown
        }
    }

    private func isOwn(_ host: String) -> Bool {
        ["127.0.0.1:\(port)", "[::1]:\(port)", "localhost:\(port)"].contains(host.lowercased())
    }
}
