import AccountKit
import AccountSupport
import HTTPTypes

/// The time for which a service allows clients to store its metadata (RFC 9111, sections 4.2 and 5).
enum MetadataLifetime {
    /// The lifetime if the response states none.
    static let standard: TimeInterval = 3600

    /// Returns the date when the metadata in a response expires; `nil` if AccountKit must not use it again.
    static func end(of response: ServiceResponse) -> Date? {
        let fields = response.head.headerFields
        let directives = fields[values: .cacheControl].flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        guard !directives.contains(where: { $0 == "no-store" || $0.prefix { $0 != "=" } == "no-cache" }) else {
            return nil
        }
        let lifetime: TimeInterval
        let maximumAges = directives.filter { $0.hasPrefix("max-age=") }.map { seconds($0.dropFirst("max-age=".count)) }
        if !maximumAges.isEmpty {
            // An invalid value means that the response is stale.
            lifetime = maximumAges.map { $0 ?? 0 }.min() ?? 0
        } else if let expires = fields[values: .expires].first {
            let date = HTTPDate.date(from: expires)
            lifetime = date?.timeIntervalSince(response.date ?? response.receivedAt) ?? 0
        } else {
            lifetime = standard
        }
        let age = fields[values: .age].first.map { seconds($0[...]) ?? .infinity } ?? 0
        let rest = min(lifetime - age, TokenEndpoint.longestLifetime)
        return rest > 0 ? response.receivedAt.addingTimeInterval(rest) : nil
    }

    private static func seconds(_ text: Substring) -> TimeInterval? {
        let digits = text.filter { $0 != "\"" }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
        return TimeInterval(digits)
    }
}
