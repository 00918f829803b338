import AccountKit

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A request to an API. The token is the client's to add.
public struct APIRequest: Sendable, Hashable {
    /// The method of a request (RFC 9110, section 9).
    public struct Method: RawRepresentable, Sendable, Hashable {
        /// The method as it is sent.
        public let rawValue: String

        /// A method by its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Asks for something.
        public static let get = Method(rawValue: "GET")
        /// Hands something over.
        public static let post = Method(rawValue: "POST")
        /// Puts something in a place.
        public static let put = Method(rawValue: "PUT")
        /// Changes a part of something.
        public static let patch = Method(rawValue: "PATCH")
        /// Removes something.
        public static let delete = Method(rawValue: "DELETE")
    }

    /// The method.
    public var method: Method

    /// A path with its query, such as `/gists?page=2`, or a whole address on the client's origin, such as a link that a
    /// response gave.
    public var address: String

    /// Header fields. `Authorization` is not among them.
    public var headers: [String: String]

    /// The body.
    public var body: Data?

    /// Creates a request.
    public init(_ method: Method, _ address: String, headers: [String: String] = [:], body: Data? = nil) {
        self.method = method
        self.address = address
        self.headers = headers
        self.body = body
    }

    /// Asks for what is at an address.
    public static func get(_ address: String) -> APIRequest { APIRequest(.get, address) }

    /// Removes what is at an address.
    public static func delete(_ address: String) -> APIRequest { APIRequest(.delete, address) }

    /// Hands over a value as JSON.
    ///
    /// - Throws: What the encoder throws.
    public static func json(_ method: Method, _ address: String, _ value: some Encodable) throws -> APIRequest {
        APIRequest(
            method, address, headers: ["Content-Type": "application/json"], body: try JSONEncoder().encode(value))
    }

    /// Makes sure that method and header fields are well-formed (RFC 9110, sections 5.1, 5.5 and 9.1).
    func check() throws(AccountError) {
        guard Self.isToken(method.rawValue) else {
            throw AccountError(.invalidArgument, "the method of the request is not a word")
        }
        for (name, value) in headers {
            guard Self.isToken(name), value.utf8.allSatisfy({ $0 == 0x09 || 0x20...0x7E ~= $0 || $0 >= 0x80 }) else {
                throw AccountError(.invalidArgument, "a header field of the request is not well-formed")
            }
            guard !Self.ownHeaders.contains(name.lowercased()) else {
                throw AccountError(.invalidArgument, "the header field \(name) is not for the caller to set")
            }
        }
    }

    /// What says who asks, whom, and where the request ends.
    private static let ownHeaders: Set<String> = ["authorization", "host", "content-length", "transfer-encoding"]

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}

/// What an API responded.
public struct APIResponse: Sendable {
    /// The status code (RFC 9110, section 15).
    public let status: Int

    /// The body; empty if there is none.
    public let body: Data

    private let headers: [HTTPResponse.Header]

    /// Whether it is what the service documents as its response to a token that is not valid any more.
    private let isDeadTokenResponse: Bool

    init(_ response: HTTPResponse, deadTokenResponse: ServiceQuirks.DeadTokenResponse? = nil) {
        isDeadTokenResponse = deadTokenResponse?.matches(response) == true
        status = response.status
        headers = response.headers
        body = Data(response.body)
    }

    /// Whether the status is from 200 to 299.
    public var isSuccess: Bool { 200..<300 ~= status }

    /// The values of all header fields of a name, in order. Names are case-insensitive.
    public func headerValues(_ name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The body, decoded from JSON.
    ///
    /// - Throws: What the decoder throws.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: body)
    }

    /// Whether the API says that the token is not valid any more: 401, and a Bearer challenge that says so; or what is
    /// documented for that.
    var refusesToken: Bool {
        if isDeadTokenResponse { return true }
        guard status == 401 else { return false }
        let bearer = AuthenticationChallenge.challenges(in: headerValues("WWW-Authenticate"))
            .filter { $0.scheme == "bearer" }
        // Challenges that contradict each other say nothing.
        return Set(bearer.compactMap { $0.parameters["error"] }) == ["invalid_token"]
    }
}
