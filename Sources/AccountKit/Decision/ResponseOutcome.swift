#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Interprets the responses of the app's service to requests for data and for changes. Such a response never ends a
/// session.
package enum ResponseOutcome: Equatable, Sendable {
    case done
    /// The request was not sent, or the service did not carry it out. Retry later, and wait for at least `wait`.
    case later(String, wait: Duration?)
    /// The service requests a pause. Send nothing for this duration.
    case pause(String, Duration)
    /// The service may have carried out the request. Ask the service later, and wait for at least `wait`.
    case unknown(String, wait: Duration?)
    /// The service does not accept the account's token.
    case signIn(String)
    case conflict(String)
    case refused(String)

    /// The time to wait if a service reports its rate limit without a time.
    package static let usualPause = Duration.seconds(60)

    /// Interprets a response (RFC 9110, section 15). If the body is JSON with a string `message`, that string is the
    /// explanation. `missing` returns the outcome for 404 and 410. `field` returns the value of a header field by its
    /// name in lower case.
    package init(
        status: Int, body: Data, at date: Date, missing: (_ words: String) -> ResponseOutcome,
        field: (_ name: String) -> String?
    ) {
        let words = "\(status)\(Self.words(in: body).map { ": \($0)" } ?? "")"
        // The value is in seconds (RFC 9110, section 10.2.3).
        let retryAfter = field("retry-after").flatMap(Int.init).map { Duration.seconds(min(max($0, 0), 86_400)) }
        switch status {
        case 200...299: self = .done
        case 401: self = .signIn(words)
        case 404, 410: self = missing(words)
        case 409, 412: self = .conflict(words)
        case 403, 429:
            self =
                Self.limit(retryAfter, words, at: date, field)
                ?? (status == 403 ? .refused(words) : .pause(words, Self.usualPause))
        // The service has not begun to process the request.
        case 408, 425: self = .later(words, wait: retryAfter)
        case 500...599 where status != 511: self = .unknown(words, wait: retryAfter)
        case 400...499: self = .refused(words)
        default: self = .later("another server responded (\(words))", wait: nil)
        }
    }

    /// Returns a pause if a rate limit is reached. GitHub reports a rate limit with 403 as well as with 429.
    private static func limit(
        _ retryAfter: Duration?, _ words: String, at date: Date, _ field: (String) -> String?
    ) -> ResponseOutcome? {
        if let retryAfter { return .pause(words, retryAfter) }
        if field("x-ratelimit-remaining") == "0" {
            let reset = field("x-ratelimit-reset").flatMap(Double.init).map { $0 - date.timeIntervalSince1970 }
            return .pause(words, reset.map { .seconds(min(max($0, 1), 86_400)) } ?? usualPause)
        }
        return words.lowercased().contains("rate limit") ? .pause(words, usualPause) : nil
    }

    /// Returns the service's explanation in one line that is safe for a terminal.
    private static func words(in body: Data) -> String? {
        struct Explanation: Decodable { var message: String? }
        guard body.count <= 1 << 16,
            // Without an explanation, the caller uses the status.
            let text = (try? JSONDecoder().decode(Explanation.self, from: body))?.message
        else { return nil }
        let line = text.prefix(200).map {
            $0.isNewline || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0
        }
        return String(line)
    }
}

extension AccountError {
    package init(_ outcome: ResponseOutcome, status: Int) {
        switch outcome {
        case .signIn(let words):
            self.init(
                .requestFailed, "the service did not accept this session (\(words)); if that lasts, sign in again")
        case .later(let words, _), .unknown(let words, _):
            self.init(.serviceUnavailable, "the service cannot do this now (\(words))")
        case .pause(let words, let wait):
            self.init(
                .serviceUnavailable,
                "the service's rate limit is reached (\(words)): try again in \(wait.components.seconds) s")
        case .conflict(let words), .refused(let words):
            self.init(.requestFailed, "the service refused the request (\(words))")
        case .done: self.init(.requestFailed, "the service sent no usable response (\(status))")
        }
    }

    package var offline: AccountError {
        guard code == .serviceUnavailable, let requestFailure else { return self }
        var error = self
        switch requestFailure {
        case .noResponse(let failure), .notSent(.noResponse(let failure)): error.message = "offline (\(failure))"
        case .untrustedTLS(let why): error.message = "the connection is not secure (\(why))"
        case .intercepted(let why):
            error.message = "another server responded instead of the service: a captive portal? (\(why))"
        default: break
        }
        return error
    }

    /// Whether the service may have carried out the failed request; `true` if the outcome is unknown.
    package var mayHaveBeenSent: Bool {
        if let failure = requestFailure ?? cause as? AuthorityError { return !failure.wasCertainlyNotCarriedOut }
        // Errors before a request is sent: there is no token, or the request is malformed.
        let before: [Code] = [
            .notSignedIn, .renewalRefused, .noKey, .authenticationFailed, .damaged, .unsupportedVersion, .inaccessible,
            .insecureContainer,
            .busy, .conflict, .signInRefused, .misconfigured, .invalidArgument,
        ]
        return !before.contains(code)
    }
}
