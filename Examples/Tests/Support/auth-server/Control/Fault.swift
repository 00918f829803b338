import HTTPTypes

/// Something that is to go wrong with the requests for a path.
///
/// - With `status` or `body`, the response consists of these and of `headers`; `status` is 200 by default and
///   `Content-Type` is `application/json`.
/// - With neither, the real handler responds and `headers` are added to what it says.
/// - `delayMilliseconds` holds the response back for a while, `gate` until the gate of that name is opened; see `Gates`.
/// - `disconnect` breaks the connection instead of (or in the middle of) responseing.
/// - `afterHandler` has the real handler run first, whatever the client then hears: a token has been rotated and the
///   client does not know.
/// - `method` confines it to requests of that method; a path that ends in `*` to paths that begin with what is before it.
/// - `skip` lets so many requests pass that it would apply to.
/// - `grantType` confines it to token requests of that grant type, and `ifStatus` to requests that the real handler, which
///   then runs first, responds with that status.
struct Fault: Equatable, Sendable {
    /// In which way the connection breaks.
    enum Disconnect: String, Decodable, CaseIterable {
        /// It is closed without a response.
        case before
        /// A response announces more bytes than follow.
        case truncated
        /// Bytes follow that are not HTTP.
        case garbled
    }

    /// The path it applies to, or the beginning of it and `*`; `*` alone is for all but the control endpoints.
    var path: String
    /// The method it applies to; `nil` for all.
    var method: String?
    /// The grant type it applies to; `nil` for all, and for requests that have none.
    var grantType: String?
    /// The status of the real response that it applies to; `nil` for all.
    var ifStatus: Int?
    var status: Int?
    var headers: [String: String] = [:]
    var body: String?
    var delayMilliseconds = 0
    /// The name of the gate at which the response waits.
    var gate: String?
    var disconnect: Disconnect?
    var afterHandler = false
    /// How many more requests pass before it applies to one.
    var skip = 0
    /// For how many more requests; `nil` for all.
    var times: Int?

    /// Whether it applies to a request.
    ///
    /// - Parameter status: the status of the real response, as far as that is known.
    func matches(_ path: String, method: String?, grantType: String?, status: Int?) -> Bool {
        let fits = self.path.hasSuffix("*") ? path.hasPrefix(self.path.dropLast()) : self.path == path
        guard fits, self.method == nil || self.method == method else { return false }
        if let wanted = self.grantType, wanted != grantType { return false }
        return ifStatus == status
    }

    /// Whether the fault has a response of its own.
    var replacesResponse: Bool { status != nil || body != nil }
}

extension Fault: Decodable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case path
        case method
        case grantType
        case ifStatus
        case status
        case headers
        case body
        case delayMilliseconds
        case gate
        case disconnect
        case afterHandler
        case skip
        case times
    }

    /// Refuses everything that could not be acted on; a fault that is silently ignored would make a test pass that
    /// tests nothing.
    init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(otherThan: CodingKeys.allCases.map(\.rawValue))
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func decode<Value: Decodable>(
            _ key: CodingKeys,
            _ rule: String,
            where isValid: (Value) -> Bool
        ) throws -> Value? {
            guard let value = try container.decodeIfPresent(Value.self, forKey: key) else { return nil }
            guard isValid(value) else {
                throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: rule)
            }
            return value
        }

        path = try container.decode(String.self, forKey: .path)
        guard path == "*" || path.hasPrefix("/"), !path.isControlPath else {
            let rule = "path is * or begins with /, but not with /control/"
            throw DecodingError.dataCorruptedError(forKey: .path, in: container, debugDescription: rule)
        }
        method = try decode(.method, "method is one that HTTP allows, in capitals") {
            HTTPRequest.Method($0) != nil && $0 == $0.uppercased()
        }
        grantType = try decode(.grantType, "grantType is one that the token endpoint knows") {
            TokenRoutes.GrantType(rawValue: $0) != nil
        }
        ifStatus = try decode(.ifStatus, "ifStatus is from 200 to 599") { (200..<600).contains($0) }
        status = try decode(.status, "status is from 200 to 599") { (200..<600).contains($0) }
        headers =
            try decode(.headers, "headers has a name or value that HTTP does not allow") {
                $0.allSatisfy { HTTPField.Name($0.key) != nil && HTTPField.isValidValue($0.value) }
            } ?? [:]
        body = try container.decodeIfPresent(String.self, forKey: .body)
        delayMilliseconds = try decode(.delayMilliseconds, "delayMilliseconds is not negative") { $0 >= 0 } ?? 0
        gate = try decode(.gate, "gate has no name") { !$0.isEmpty }
        disconnect = try container.decodeIfPresent(Disconnect.self, forKey: .disconnect)
        afterHandler = try container.decodeIfPresent(Bool.self, forKey: .afterHandler) ?? false
        skip = try decode(.skip, "skip is not negative") { $0 >= 0 } ?? 0
        times = try decode(.times, "times is not negative") { $0 >= 0 }
    }
}
