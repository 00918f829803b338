/// A request to the listener of a sign-in.
struct LoopbackRequest: Sendable {
    var method: String
    var target: String

    /// The values of all `Host` header fields.
    var hosts: [String]

    /// The port that it came to.
    var port: Int

    /// Where the service sends the browser, unless it is registered otherwise.
    static let callbackPath = "/callback"

    /// Where the browser goes from there, so that the code does not stay in its address bar.
    static let resultPath = "/done"

    /// What a request asks for.
    enum Route: Equatable {
        /// It brings the response of the service.
        case callback(query: Substring)
        /// It wants to see what came of it.
        case result
        /// Something else.
        case unknown
        /// It is not a request that a browser on this machine makes for these pages.
        case malformed
    }

    /// What the request asks for.
    ///
    /// - Parameters:
    ///   - callbackPath: Where the service sends the browser.
    ///   - resultPath: Where the browser goes from there.
    func route(callback callbackPath: String = Self.callbackPath, result resultPath: String = Self.resultPath) -> Route
    {
        // A page whose host name was made to point here has that name in Host (DNS rebinding).
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
