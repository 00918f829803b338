package import AccountSupport

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

    /// The meaning of a response, according to its status and its form. The adapter for a service decides this, because each
    /// service has its own form.
    package enum Answer: Sendable {
        case done
        case missing
        case refused
        /// The response does not have the form of the service, so it may come from a captive portal or a proxy.
        case foreign
    }

    /// Interprets a response (RFC 9110, section 15). The explanation is in the JSON of the body; see
    /// ``ServiceExplanation``.
    ///
    /// Times are relative to the field `Date` of the response, because this machine's clock may be wrong.
    ///
    /// - Parameters:
    ///   - answer: What the response says. A response that asks for a retry needs no particular form.
    ///   - date: The time by this machine's clock, for a response without `Date`.
    ///   - missing: Returns the outcome for an item that does not exist.
    ///   - fields: Returns the values of a header field by its name in lower case.
    package init(
        status: Int, body: Data, answer: Answer, at date: Date, missing: (_ words: String) -> ResponseOutcome,
        fields: (_ name: String) -> [String]
    ) {
        let permission = MissingPermission(status: status, field: { fields($0).first })
        let words = ["\(status)", Self.words(in: body), permission?.description].compactMap(\.self)
            .joined(separator: ": ")
        let date = fields("date").first.flatMap { HTTPDate.date(from: $0) } ?? date
        let retryAfter = RetryAfter.duration(in: fields("retry-after"), at: date)
        switch status {
        case 403, 429:
            if let pause = Self.limit(retryAfter, words, at: date, fields) {
                self = pause
                return
            }
            if status == 429 {
                self = .pause(words, Self.usualPause)
                return
            }
        // The service has not begun to process the request, or the item is locked (RFC 4918, section 11.3). A gateway may
        // have forwarded the request.
        case 408, 421, 423, 425:
            self = answer == .foreign ? .unknown(words, wait: retryAfter) : .later(words, wait: retryAfter)
            return
        // The network has not forwarded the request (RFC 6585, section 6).
        case 511:
            self = .later(Self.foreign(words), wait: nil)
            return
        case 500...599:
            self = .unknown(words, wait: retryAfter)
            return
        // The form of this answer is the challenge, and its body may be empty (RFC 6750, section 3).
        case 401 where answer != .foreign || fields("www-authenticate").contains(where: Self.isOfToken):
            self = .signIn(words)
            return
        default: break
        }
        switch answer {
        case .done: self = .done
        // Some services hide an item behind a 404 from a token without the scope.
        case .missing: self = permission == nil ? missing(words) : .refused(words)
        case .refused: self = [409, 412].contains(status) ? .conflict(words) : .refused(words)
        // The server that responded may have forwarded the request.
        case .foreign: self = .unknown(Self.foreign(words), wait: nil)
        }
    }

    private static func foreign(_ words: String) -> String {
        "another server responded (\(words)): a captive portal or a proxy?"
    }

    private static func isOfToken(_ challenge: String) -> Bool {
        ["bearer", "dpop"].contains { challenge.lowercased().hasPrefix($0) }
    }

    /// Returns a pause if a rate limit is reached. GitHub reports a rate limit with 403 as well as with 429.
    private static func limit(
        _ retryAfter: Duration?, _ words: String, at date: Date, _ fields: (String) -> [String]
    ) -> ResponseOutcome? {
        // If the time is over, the limit still applies to the next request.
        if let retryAfter { return .pause(words, max(retryAfter, .seconds(1))) }
        if fields("x-ratelimit-remaining").first == "0" {
            let reset = fields("x-ratelimit-reset").first.flatMap { Double(decimal: $0) }.map { reset in
                // Most services send a date in seconds since 1970, and some send the seconds to wait.
                reset <= RetryAfter.limit ? reset : reset - date.timeIntervalSince1970
            }
            return .pause(words, reset.map { .seconds(min(max($0, 1), RetryAfter.limit)) } ?? usualPause)
        }
        // An unreadable time still requests a pause. Older versions of GitHub Enterprise Server call a secondary limit
        // "abuse detection".
        let isLimit =
            !fields("retry-after").isEmpty
            || ["rate limit", "abuse detection"].contains { words.lowercased().contains($0) }
        return isLimit ? .pause(words, usualPause) : nil
    }

    /// Returns the service's explanation in one line that is safe for a terminal.
    private static func words(in body: Data) -> String? {
        // Without an explanation, the caller uses the status.
        guard body.count <= 1 << 16, let object = JSONValue.object(from: body) else { return nil }
        return ServiceExplanation.words(in: object, ServerText(secrets: []))
    }
}

extension AccountError.Code {
    /// The code for a response with an error status, which depends on whether another attempt may succeed.
    package init(status: Int) {
        self = [408, 425, 429].contains(status) || (500...599).contains(status) ? .serviceUnavailable : .requestRefused
    }
}

extension AccountError {
    package init(_ outcome: ResponseOutcome, status: Int) {
        switch outcome {
        case .signIn(let words):
            self.init(
                .requestRefused, "the service did not accept this session (\(words))", hint: Self.signInIfRefusedAgain)
        case .later(let words, _), .unknown(let words, _):
            self.init(.serviceUnavailable, "the service cannot do this now (\(words))")
        case .pause(let words, let wait):
            self.init(
                .serviceUnavailable,
                "the service's rate limit is reached (\(words)): try again in \(wait.components.seconds) s")
        case .conflict(let words), .refused(let words):
            self.init(.requestRefused, "the service refused the request (\(words))")
        case .done: self.init(.requestRefused, "the service sent no usable response (\(status))")
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
            .notSignedIn, .renewalRefused, .noKey, .wrongKeyOrDamaged, .damaged, .unsupportedVersion, .inaccessible,
            .insecureContainer,
            .busy, .conflict, .signInRefused, .misconfigured, .invalidArgument,
        ]
        return !before.contains(code)
    }
}
