import AccountSupport

/// The record of refreshes that have not stored new tokens. The record is not encrypted.
///
/// A refresh writes the record before it sends the refresh token, and removes the record when the new tokens are
/// stored. If a process finds a record, the stored token may be spent. After a failure, all processes wait for the
/// pause in the record.
struct RefreshRecord: Decodable, Equatable, Sendable {
    /// The date of the request that may have spent the stored refresh token; `nil` if there was no such request.
    var date: Date?

    var failureCount: Int?

    /// The code of the last failure's ``UnverifiedReason``.
    var reason: String?

    /// The detail of the last failure's ``UnverifiedReason``, without secrets.
    var detail: String?

    var nextTry: Date?

    /// The dates of the first and last of consecutive refusals to renew these tokens; see
    /// ``SessionDecision/refusesRenewal(_:)``.
    var refusedSince: Date?
    var refusedAt: Date?

    /// Whether refusals have continued for at least a minute. While the access token is valid, a single refusal may be a
    /// mistake of a proxy or a deployment, and is not worth a message.
    var isRefused: Bool {
        guard let refusedSince, let refusedAt else { return false }
        return refusedAt.timeIntervalSince(refusedSince) >= 60
    }

    static let firstPause: TimeInterval = 2

    static let longestPause: TimeInterval = 300

    /// The longest pause while the service is unreachable. This pause is short, since the service then has no load, and
    /// the network may return at any moment.
    static let longestPauseOffline: TimeInterval = 5

    func wait(at now: Date) -> TimeInterval? {
        guard let nextTry else { return nil }
        let wait = nextTry.timeIntervalSince(now)
        // A wait that is longer than the longest pause means that the clock was set back.
        return wait > 0 && wait <= Self.longestPause ? wait : nil
    }

    /// Returns the reason of the last failure during the pause after it, with the time until the next attempt.
    ///
    /// - Parameter isShared: Whether other machines can write the record. Their text is not shown.
    func pause(at now: Date, isShared: Bool = false) -> UnverifiedReason? {
        guard let wait = wait(at: now) else { return nil }
        var reason = failure(isShared: isShared)
        reason.retryAfter = .seconds(Int(wait) + 1)
        return reason
    }

    /// Returns the reason of the last failure.
    ///
    /// - Parameter isShared: Whether other machines can write the record. Their text is not shown.
    func failure(isShared: Bool) -> UnverifiedReason {
        // Other reasons may concern only the other process.
        let codes: [UnverifiedReason.Code] = [
            .offline, .rateLimited, .captivePortal, .untrustedTLS, .proxyAuthenticationRequired, .misconfigured,
            .insufficientScope, .unclearReply,
        ]
        var failure = UnverifiedReason(
            codes.first { $0.rawValue == reason } ?? .serverError, detail: isShared ? nil : detail?.shown)
        failure.refusesRenewal = refusedSince != nil && failure.code != .offline
        return failure
    }

    private static let longestDetail = 300

    /// - Parameter jitter: A random number from 0.5 to 1, so that programs do not all try again at the same time.
    mutating func fail(_ reason: UnverifiedReason, at now: Date, jitter: Double) {
        let count = min((failureCount ?? 0) + 1, 1000)
        failureCount = count
        self.reason = reason.code.rawValue
        detail = reason.detail.map { String($0.prefix(Self.longestDetail)) }
        if reason.refusesRenewal {
            refusedSince = refusedSince ?? now
            refusedAt = now
        } else if reason.code != .offline {
            (refusedSince, refusedAt) = (nil, nil)
        }
        let longest = reason.code == .offline ? Self.longestPauseOffline : Self.longestPause
        let own = BackOff(first: Self.firstPause, longest: longest).pause(after: count) * jitter
        let asked = reason.retryAfter.map { TimeInterval($0.components.seconds) } ?? 0
        nextTry = now.addingTimeInterval(min(max(own, asked), Self.longestPause))
    }

    /// Encodes the record as a binary property list. A refresh writes the record twice if it fails, and `PropertyListEncoder` took a
    /// tenth of the instructions of a refresh.
    func encode() throws(AccountError) -> [UInt8] {
        var fields = [String: ProfileValue](minimumCapacity: 7)
        fields["date"] = date.map { .date($0) }
        fields["failureCount"] = failureCount.map { .integer(Int64($0)) }
        fields["reason"] = reason.map { .string($0) }
        fields["detail"] = detail.map { .string($0) }
        fields["nextTry"] = nextTry.map { .date($0) }
        fields["refusedSince"] = refusedSince.map { .date($0) }
        fields["refusedAt"] = refusedAt.map { .date($0) }
        do {
            return try RecordPropertyListWriter.write(fields)
        } catch {
            throw AccountError(.inaccessible, "the refresh cannot be recorded", cause: error)
        }
    }

    /// Decodes a record; `nil` if it is damaged or empty. Earlier versions wrote XML.
    static func decode(_ bytes: [UInt8]) -> RefreshRecord? {
        let record =
            bytes.first == UInt8(ascii: "b")
            ? try? RefreshRecord(
                bytes.withUnsafeBytes { bytes throws(RecordPropertyList.Malformed) in
                    try RecordPropertyList.read(bytes)
                })
            : try? PropertyListDecoder().decode(RefreshRecord.self, from: Data(bytes))
        return record == RefreshRecord() ? nil : record
    }
}

extension RefreshRecord {
    private init(_ fields: [String: ProfileValue]) throws(RecordPropertyList.Malformed) {
        self.init(
            date: try fields.date("date"), failureCount: try fields.number("failureCount"),
            reason: try fields.text("reason"), detail: try fields.text("detail"), nextTry: try fields.date("nextTry"),
            refusedSince: try fields.date("refusedSince"), refusedAt: try fields.date("refusedAt"))
    }
}
