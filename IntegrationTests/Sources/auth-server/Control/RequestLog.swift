/// The requests of clients and the statuses of the responses, for tests. The log never contains a token.
struct RequestLog: Sendable {
    /// A request, and the status of its response.
    struct Entry: Encodable, Equatable, Sendable {
        let method: String
        let path: String
        /// The grant type of a request to the token endpoint.
        let grantType: String?
        /// The requested scope.
        var scope: String?
        /// The requested resources, separated by spaces.
        var resource: String?
        var audience: String?
        var clientID: String?
        /// The method by which the client authenticated.
        var secret: String?
        /// The status of the response, or `nil` if there is none yet or the connection was broken.
        var status: Int?
    }

    /// The maximum number of entries. Older entries are dropped, but still counted.
    private static let capacity = 10_000

    private(set) var requests: [Entry] = []
    private var firstNumber = 0
    private(set) var counts: [String: Int] = [:]
    private var refreshes = 0
    private var rotations = 0
    private var reuseAlarms = 0

    /// Adds a request that has just arrived.
    ///
    /// - Returns: The request's number, for `setStatus`.
    mutating func add(_ request: Entry) -> Int {
        requests.append(request)
        counts[request.path, default: 0] += 1
        if request.grantType == TokenRoutes.GrantType.refreshToken.rawValue {
            refreshes += 1
        }
        if requests.count > Self.capacity {
            requests.removeFirst()
            firstNumber += 1
        }
        return firstNumber + requests.count - 1
    }

    /// Adds the status of the response to a request, unless the log was cleared in between.
    mutating func setStatus(_ status: Int, ofRequest number: Int) {
        let index = number - firstNumber
        guard requests.indices.contains(index) else { return }
        requests[index].status = status
    }

    /// Counts an exchanged refresh token.
    mutating func countRotation() { rotations += 1 }

    /// Counts a session that ended because a spent refresh token was used again.
    mutating func countReuseAlarm() { reuseAlarms += 1 }

    mutating func clear() {
        let nextNumber = firstNumber + requests.count
        self = RequestLog()
        firstNumber = nextNumber
    }
}

extension RequestLog: Encodable {
    private enum CodingKeys: String, CodingKey {
        case requests
        case counts
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(requests, forKey: .requests)
        let others = ["refreshes": refreshes, "rotations": rotations, "reuseAlarms": reuseAlarms]
        try container.encode(counts.merging(others) { _, new in new }, forKey: .counts)
    }
}
