import HTTPTypes

/// A fault of the requests for a path.
///
/// - With `status` or `body`, the response consists of these and of `headers`; `status` is 200 by default and
///   `Content-Type` is `application/json`.
/// - With neither, the real handler responds, and `headers` are added to its response.
/// - `delayMilliseconds` delays the response, and `gate` holds it until the gate of that name is opened; see `Gates`.
/// - `disconnect` breaks the connection instead of (or in the middle of) responding.
/// - `afterHandler` runs the real handler first, regardless of the response: for example, the server rotates a token,
///   and the client does not receive the new token.
/// - `method` limits the fault to requests of that method. A path that ends in `*` limits it to paths with that prefix.
/// - `skip` lets the given number of matching requests pass first.
/// - `grantType` limits the fault to token requests of that grant type. `ifStatus` runs the real handler first, and
///   limits the fault to requests for which the handler returns that status.
struct Fault: Equatable, Sendable {
    /// How the connection breaks.
    enum Disconnect: String, Decodable, CaseIterable {
        /// The connection is closed without a response.
        case before
        /// The response announces more bytes than follow.
        case truncated
        /// The server sends bytes that are not HTTP.
        case garbled
    }

    /// The path of the requests, or the beginning of a path followed by `*`. `*` alone matches all paths except the
    /// control endpoints.
    var path: String
    /// The method of the requests, or `nil` for all methods.
    var method: String?
    /// The grant type of the requests, or `nil` for all requests, with or without a grant type.
    var grantType: String?
    /// The status of the real response, or `nil` for any status.
    var ifStatus: Int?
    var status: Int?
    var headers: [String: String] = [:]
    var body: String?
    var delayMilliseconds = 0
    /// The name of the gate at which the response waits.
    var gate: String?
    var disconnect: Disconnect?
    var afterHandler = false
    /// The number of matching requests that still pass before the fault applies.
    var skip = 0
    /// The number of requests that the fault still applies to, or `nil` for no limit.
    var times: Int?

    /// Whether the fault applies to a request.
    ///
    /// - Parameter status: The status of the real response, or `nil` if it is not known yet.
    func matches(_ path: String, method: String?, grantType: String?, status: Int?) -> Bool {
        let fits = self.path.hasSuffix("*") ? path.hasPrefix(self.path.dropLast()) : self.path == path
        guard fits, self.method == nil || self.method == method else { return false }
        if let wanted = self.grantType, wanted != grantType { return false }
        return ifStatus == status
    }

    /// Whether the fault replaces the real response.
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

    /// Rejects everything that the server cannot act on. If the server ignored an invalid fault, a test could pass
    /// without testing anything.
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
