import HTTPTypes
import Hummingbird

/// The scheme, host and port under which a client reached the server, which are the issuer identifier.
///
/// The origin is taken from the request, since the loopback interface has several names and a client compares the
/// issuer with the name it used (RFC 8414, section 3.3; OpenID Connect Discovery 1.0, section 4.3).
struct Origin: Equatable, Sendable {
    /// The origin without a trailing slash, for example `http://127.0.0.1:8080`.
    let text: String
    /// The origin without its scheme.
    let authority: String

    /// - Parameters:
    ///   - authority: The `Host` field: a name of the loopback interface, with or without a port. Any other host is
    ///     rejected, so that a web page cannot reach the server by a name that it resolves to 127.0.0.1.
    ///   - usesTLS: Whether the scheme is `https`.
    ///   - name: Another accepted host.
    init?(authority: String, usesTLS: Bool, name: String? = nil) {
        var host = authority
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            guard UInt16(authority[authority.index(after: colon)...]) != nil else { return nil }
            host = String(authority[..<colon])
        }
        guard host.hasPrefix("[") || !host.contains(":"), LoopbackHost(host) != nil || host == name else { return nil }
        self.authority = authority
        text = (usesTLS ? "https://" : "http://") + authority
    }

    /// - Throws: `421 Misdirected Request` (RFC 9110, section 15.5.20) if the request is not for the loopback
    ///   interface.
    init(of request: Request, settings: ServerSettings) throws {
        let authority = request.head.authority ?? ""
        guard let origin = Origin(authority: authority, usesTLS: settings.usesTLS, name: settings.name) else {
            throw HTTPError(
                .misdirectedRequest, message: "this server is reached only by names of the loopback interface")
        }
        self = origin
    }

    func url(_ path: String) -> String { text + path }
}
