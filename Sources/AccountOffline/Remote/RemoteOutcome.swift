#if Offline
import AccountKit
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The result of a request for a change. Only this type interprets such responses.
enum RemoteOutcome: Equatable {
    /// It was carried out.
    case done
    /// It was not sent, or the service did not carry it out: again later, not before `wait`.
    case later(String, wait: Duration?)
    /// The service asks to be left alone: nothing is sent for so long.
    case pause(String, Duration)
    /// It may have been carried out: whether it was is asked later, not before `wait`.
    case unknown(String, wait: Duration?)
    /// The service does not take the account's token.
    case signIn(String)
    case conflict(String)
    /// The service does not do it, and says why.
    case refused(String)

    /// How long to wait where a service only says that its limit is reached.
    static let usualPause = Duration.seconds(60)

    init(of change: ChangeKind, _ head: HTTPResponse, _ body: Data, at date: Date) {
        let words = "\(head.status.code)\(Self.words(in: body).map { ": \($0)" } ?? "")"
        switch head.status.code {
        case 200...299: self = .done
        case 401: self = .signIn(words)
        // A missing item is removed already.
        case 404, 410:
            self =
                switch change {
                case .delete: .done
                case .create: .refused(words)
                default: .conflict("it is not there any more (\(words))")
                }
        case 409, 412: self = .conflict(words)
        case 403, 429:
            self =
                Self.limit(head, body, words, at: date)
                ?? (head.status == 403 ? .refused(words) : .pause(words, Self.usualPause))
        // The service has not begun with it.
        case 408, 425: self = .later(words, wait: Self.retryAfter(head))
        case 500...599 where head.status.code != 511: self = .unknown(words, wait: Self.retryAfter(head))
        case 400...499: self = .refused(words)
        // Another server responded.
        default: self = .later("another server answered (\(words))", wait: nil)
        }
    }

    init(_ error: any Error, of change: ChangeKind, at date: Date) {
        if let failure = error as? RemoteFailure {
            self.init(of: change, failure.head, failure.body, at: date)
            return
        }
        guard let error = error as? AccountError else {
            if let error = error as? AuthorityError, error.wasCertainlyNotCarriedOut {
                self = .later("\(error)", wait: nil)
            } else {
                let isCancelled = error is CancellationError
                self = .unknown(
                    isCancelled ? "cancelled" : "the response is not one of this service (\(error))", wait: nil)
            }
            return
        }
        switch error.code {
        case .notSignedIn, .conflict: self = .signIn(error.message)
        default:
            self =
                error.mayHaveBeenSent
                ? .unknown(error.offline.message, wait: nil) : .later(error.offline.message, wait: nil)
        }
    }

    /// A limit that is reached: GitHub says it with 403 as well as with 429.
    private static func limit(_ head: HTTPResponse, _ body: Data, _ words: String, at date: Date) -> RemoteOutcome? {
        if let wait = retryAfter(head) { return .pause(words, wait) }
        if head.headerFields[.rateLimitRemaining] == "0" {
            let reset = head.headerFields[.rateLimitReset].flatMap(Double.init).map { $0 - date.timeIntervalSince1970 }
            return .pause(words, reset.map { .seconds(min(max($0, 1), 86_400)) } ?? usualPause)
        }
        return words.lowercased().contains("rate limit") ? .pause(words, usualPause) : nil
    }

    /// RFC 9110, section 10.2.3, in its form of seconds.
    private static func retryAfter(_ head: HTTPResponse) -> Duration? {
        head.headerFields[.retryAfter].flatMap(Int.init).map { .seconds(min(max($0, 0), 86_400)) }
    }

    /// The service's own explanation, in one line that is fit for a terminal.
    private static func words(in body: Data) -> String? {
        struct Explanation: Decodable { var message: String? }
        guard body.count <= 1 << 16,
            // Without one there is the status.
            let text = (try? JSONDecoder().decode(Explanation.self, from: body))?.message
        else { return nil }
        let line = text.prefix(200).map {
            $0.isNewline || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0
        }
        return String(line)
    }
}

extension HTTPField.Name {
    fileprivate static let rateLimitRemaining = Self("x-ratelimit-remaining")!
    fileprivate static let rateLimitReset = Self("x-ratelimit-reset")!
}

extension AccountError {
    /// The same in fewer words, where it is the network that failed.
    var offline: AccountError {
        guard code == .serviceUnavailable, let requestFailure else { return self }
        var error = self
        switch requestFailure {
        case .noResponse(let failure), .notSent(.noResponse(let failure)): error.message = "offline (\(failure))"
        case .untrustedTLS(let why): error.message = "the connection is not trusted (\(why))"
        case .intercepted(let why):
            error.message = "another server answered instead of the service: a captive portal? (\(why))"
        default: break
        }
        return error
    }

    /// Whether the failed request may have been carried out; `true` if that is unknown.
    var mayHaveBeenSent: Bool {
        if let failure = requestFailure ?? cause as? AuthorityError { return !failure.wasCertainlyNotCarriedOut }
        // Errors before a request is sent: there is no token, or the request is malformed.
        let before: [Code] = [
            .notSignedIn, .noKey, .authenticationFailed, .damaged, .unsupportedVersion, .inaccessible,
            .insecureContainer,
            .busy, .conflict, .signInRefused, .misconfigured, .invalidArgument,
        ]
        return !before.contains(code)
    }
}
#endif
