struct LoopbackRequest: Sendable {
    var method: String
    var target: String

    var hosts: [String]
    var port: Int

    static let callbackPath = "/callback"

    /// The path to which the listener redirects the browser, so that the code does not stay in the address bar.
    static let resultPath = "/done"

    enum Route: Equatable {
        case callback(query: Substring)
        case result
        case unknown
        case malformed
    }

    func route(callback callbackPath: String = Self.callbackPath, result resultPath: String = Self.resultPath) -> Route
    {
        // Reject DNS rebinding: if another host's name resolves to this machine, the browser sends that name in `Host`.
        guard method == "GET", hosts.count == 1, isOwn(hosts[0]), let target = originForm else { return .malformed }
        let path = target.prefix { $0 != "?" }
        let query = target[path.endIndex...].dropFirst()
        return switch path {
        case callbackPath: .callback(query: query)
        case resultPath: .result
        default: .unknown
        }
    }

    /// The target from its path on. A browser that uses a proxy sends the whole URL (RFC 9112, section 3.2.2).
    private var originForm: Substring? {
        if target.hasPrefix("/") { return target[...] }
        let scheme = "http://"
        guard target.prefix(scheme.count).lowercased() == scheme else { return nil }
        let rest = target.dropFirst(scheme.count)
        let host = rest.prefix { !"/?#".contains($0) }
        let path = rest[host.endIndex...]
        return isOwn(String(host)) && path.hasPrefix("/") ? path : nil
    }

    private func isOwn(_ host: String) -> Bool {
        ["127.0.0.1:\(port)", "[::1]:\(port)", "localhost:\(port)"].contains(host.lowercased())
    }
}
