#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How long a service asks to be left alone (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// No service is obeyed for longer than that: a mistaken one would lock its users out.
    static let limit = Duration.seconds(86_400)

    /// The wait of a reply, between nothing and ``limit``; `nil` if the reply names none, or none that can be read.
    ///
    /// A date counts from the `Date` of the same reply, so that a wrong local clock does no harm; without one from the
    /// local clock.
    static func duration(in reply: HTTPReply) -> Duration? {
        guard let value = reply.values(of: "Retry-After").first else { return nil }
        let text = value.filter { $0 != " " && $0 != "\t" }
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        if !digits.isEmpty, digits.utf8.allSatisfy({ 48...57 ~= $0 }) {
            if text.hasPrefix("-") { return .zero }
            // More digits than an integer holds are more than the limit.
            return Int64(digits).map { min(.seconds($0), limit) } ?? limit
        }
        guard let date = HTTPDate.date(from: value) else { return nil }
        let seconds = date.timeIntervalSince(reply.date ?? reply.receivedAt)
        return .seconds(min(max(seconds, 0), 86_400))
    }
}
